import Dispatch
import Glibc

/// A server on the loopback interface that answers every request head with the same bytes.
public final class RawServer: Sendable {
  public enum Ending: Sendable {
    /// Closes the connection after the answer.
    case close
    /// Sends nothing more and leaves the connection open.
    case stall
  }

  public let port: Int
  private let descriptor: Int32
  private let open = Locked<[Int32]>([])

  /// - Parameter answer: is sent when a request head has arrived. An empty one is sent at once.
  public init(answer: String, ending: Ending = .close) throws {
    port = try freePort()
    let listening = SocketPlace.port(port).makeSocket()
    guard SocketPlace.port(port).bind(listening), listen(listening, 16) == 0 else {
      throw WireError.notConnected(errno)
    }
    descriptor = listening
    let open = open
    DispatchQueue(label: "raw server").async {
      while true {
        let peer = accept(listening, nil, nil)
        if peer < 0, errno == EINVAL { break }
        guard peer >= 0 else { continue }
        RawServer.answer(peer, answer)
        switch ending {
        case .close: Glibc.close(peer)
        case .stall: open.withLock { $0.append(peer) }
        }
      }
      // Not before: this loop would accept connections of the server that gets the number of the descriptor next.
      close(listening)
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    for peer in open.withLock({ $0 }) { close(peer) }
  }

  private static func answer(_ peer: Int32, _ answer: String) {
    var head: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !answer.isEmpty, !head.contains([13, 10, 13, 10]) {
      let count = recv(peer, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      head += buffer[..<count]
    }
    var bytes = Array(answer.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
