import Foundation
import TestSupport

/// Clients of several addresses that send much, finish nothing, and come back when they are closed.
final class Flood {
  enum Kind: Sendable {
    /// 64,900 bytes of a body of 65,000 bytes, behind a head.
    case body(head: String)
    /// 16,000 bytes of a head.
    case head
    /// The beginning of a TLS handshake.
    case hello

    fileprivate var bytes: [UInt8] {
      switch self {
      case .body(let head): Array("\(head)Content-Length: 65000\r\n\r\n\(String(repeating: "a", count: 64_900))".utf8)
      case .head: Array("GET / HTTP/1.1\r\nHost: x\r\nX-Test: \(String(repeating: "a", count: 16_000))".utf8)
      // A record of 512 bytes, with the first one of a ClientHello.
      case .hello: [0x16, 3, 1, 2, 0, 1]
      }
    }
  }

  /// Addresses of the loopback interface that the connections come from, beside the victim's.
  private static let addresses: [String] = ["127.0.0.1"] + (1...39).map { "127.0.1.\($0)" }
  private static let sendBuffer: Int32 = 1 << 18

  private let port: Int
  /// What each connection sends.
  private let sent: [[UInt8]]
  private var sockets: [Int32]

  /// `count` connections of each of `kinds`.
  init(_ kinds: [Kind], count: Int, port: Int) {
    self.port = port
    sent = kinds.flatMap { kind in Array(repeating: kind.bytes, count: count) }
    sockets = Array(repeating: -1, count: sent.count)
  }

  deinit { for socket in sockets where socket >= 0 { close(socket) } }

  /// Opens the connections that the server has closed again.
  func advance() {
    for (index, bytes) in sent.enumerated() where !Flood.isOpen(sockets[index]) {
      if sockets[index] >= 0 { close(sockets[index]) }
      sockets[index] = Flood.open(port, from: Flood.addresses[index % Flood.addresses.count])
      _ = bytes.withUnsafeBytes { send(sockets[index], $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
  }

  /// Returns a socket that does not block, -1 if it cannot be opened.
  private static func open(_ port: Int, from address: String) -> Int32 {
    let descriptor = SocketPlace.port(port).makeSocket()
    var size = sendBuffer
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    let isConnected = SocketPlace.port(0, host: address).bind(descriptor) && SocketPlace.port(port).connect(descriptor)
    guard isConnected, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  /// Returns the first bytes of the answer to a request on a connection of its own; nothing if it is closed.
  static func answer(to request: String, port: Int) throws -> String {
    let descriptor = open(port, from: "127.0.0.1")
    defer { close(descriptor) }
    guard descriptor >= 0, fcntl(descriptor, F_SETFL, 0) == 0 else { throw WireError.notConnected(errno) }
    var patience = timeval(tv_sec: 300, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var bytes = Array(request.utf8)
    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    bytes = Array(repeating: 0, count: 200)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  private static func isOpen(_ descriptor: Int32) -> Bool {
    guard descriptor >= 0 else { return false }
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, 0) < 0 && errno == EAGAIN
  }
}
