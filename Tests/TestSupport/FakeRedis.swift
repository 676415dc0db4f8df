import Foundation
import Glibc

/// A scripted server on a unix socket, or on the loopback interface.
///
/// `answer` gets the number of the connection (from 0) and the words of each command. Nil sends nothing, and
/// ``FakeRedis/hangUp`` closes.
public final class FakeRedis: Sendable {
  public typealias Answer = @Sendable (_ connection: Int, _ words: [String]) -> String?

  public static let hangUp = "hang up"

  private let directory: TemporaryDirectory
  private let listener: Int32

  public var url: String { "unix://\(directory.path)/fake.sock" }

  /// `welcome` is sent on every new connection.
  public init(welcome: String = "", _ answer: @escaping Answer) throws {
    directory = try TemporaryDirectory()
    let place = SocketPlace.path("\(directory.path)/fake.sock")
    listener = try FakeRedis.listener(at: place)
    FakeRedis.accept(listener, welcome, answer)
  }

  /// Listens on `port` of the loopback interface instead.
  public init(port: Int, _ answer: @escaping Answer) throws {
    directory = try TemporaryDirectory()
    listener = try FakeRedis.listener(at: .port(port))
    FakeRedis.accept(listener, "", answer)
  }

  private static func listener(at place: SocketPlace) throws -> Int32 {
    let listener = place.makeSocket()
    guard place.bind(listener), listen(listener, 16) == 0 else { throw TestTimeout("cannot listen at \(place)") }
    return listener
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// The replies of a healthy server to the commands of the greeting; nil for others.
  public static func greeting(_ words: [String]) -> String? {
    switch words[0] {
    case "CLIENT", "SELECT", "AUTH": "+OK\r\n"
    case "SCRIPT": "$40\r\n\(String(repeating: "a", count: 40))\r\n"
    case "PING": "+PONG\r\n"
    default: nil
    }
  }

  private static func accept(_ listener: Int32, _ welcome: String, _ answer: @escaping Answer) {
    Thread.detachNewThread {
      var count = 0
      while true {
        let peer = Glibc.accept(listener, nil, nil)
        guard peer >= 0 else {
          // Only here: after a close elsewhere this would accept the connections of the next server with the descriptor.
          close(listener)
          return
        }
        let number = count
        count += 1
        Thread.detachNewThread { FakeRedis.serve(peer, number, welcome, answer) }
      }
    }
  }

  private static func serve(_ peer: Int32, _ number: Int, _ welcome: String, _ answer: Answer) {
    defer {
      // A child process may have inherited the descriptor, so closing it would not end the connection.
      shutdown(peer, Int32(SHUT_RDWR))
      close(peer)
    }
    say(welcome, to: peer)
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(peer, &chunk, chunk.count)
      guard count > 0 else { return }
      received += chunk[..<count]
      while let words = takeCommand(&received) {
        guard let reply = answer(number, words) else { continue }
        if reply == hangUp { return }
        say(reply, to: peer)
      }
    }
  }

  private static func say(_ text: String, to peer: Int32) {
    let bytes = Array(text.utf8)
    _ = send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  private static func takeCommand(_ received: inout [UInt8]) -> [String]? {
    var rest = received[...]
    guard let count = takeNumber(&rest) else { return nil }
    var words: [String] = []
    for _ in 0..<count {
      guard let length = takeNumber(&rest), rest.count >= length + 2 else { return nil }
      words.append(String(decoding: rest.prefix(length), as: UTF8.self))
      rest = rest.dropFirst(length + 2)
    }
    received = Array(rest)
    return words
  }

  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard let end = rest.firstIndex(of: 10) else { return nil }
    defer { rest = rest[(end + 1)...] }
    return Int(String(decoding: rest[..<end].dropFirst().dropLast(), as: UTF8.self))
  }
}
