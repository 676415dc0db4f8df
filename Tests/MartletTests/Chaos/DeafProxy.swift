import Foundation
import Glibc
import Synchronization
import TestSupport

/// Forwards bytes between a TCP port and a unix socket until a connection is silenced. Then the server's replies
/// are dropped, although both ends consider the connection open.
final class DeafProxy: Sendable {
  private struct Link {
    let client: Int32
    let server: Int32
    /// The latest bytes that the client sent.
    var latest: [UInt8] = []
    var isSilent = false
  }

  private struct State {
    var links: [Link] = []
    var isClosed = false
  }

  let port: Int
  private let listener: Int32
  private let state = Mutex(State())
  private let upstream: SocketPlace

  /// To a unix socket.
  convenience init(to path: String) throws {
    try self.init(.path(path), port: try freePort())
  }

  /// To another port of the loopback.
  convenience init(toPort port: Int, listeningOn own: Int) throws {
    try self.init(.port(port), port: own)
  }

  private init(_ upstream: SocketPlace, port: Int) throws {
    self.upstream = upstream
    self.port = port
    listener = SocketPlace.port(port).makeSocket()
    guard SocketPlace.port(port).bind(listener), listen(listener, 64) == 0 else {
      throw TestTimeout("the proxy cannot listen: \(errno)")
    }
    thread { $0.accept() }
  }

  var url: String { "redis://127.0.0.1:\(port)" }

  /// Silences the connection that last sent a command with `word`. Returns false if there is none.
  func silence(after word: String) -> Bool {
    state.withLock { state in
      guard let index = state.links.lastIndex(where: { $0.latest.contains(Array(word.utf8)) }) else { return false }
      state.links[index].isSilent = true
      return true
    }
  }

  func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      shutdown(listener, Int32(SHUT_RDWR))
      for link in state.links {
        shutdown(link.client, Int32(SHUT_RDWR))
        shutdown(link.server, Int32(SHUT_RDWR))
      }
    }
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { return }
      guard let server = connectUpstream() else {
        Glibc.close(client)
        continue
      }
      let index = state.withLock { state in
        state.links.append(Link(client: client, server: server))
        return state.links.count - 1
      }
      thread { $0.carryCommands(index, from: client, to: server) }
      thread { $0.carryReplies(index, from: server, to: client) }
    }
  }

  private func connectUpstream() -> Int32? {
    let server = upstream.makeSocket()
    if upstream.connect(server) { return server }
    Glibc.close(server)
    return nil
  }

  /// The client may close a silent connection, which the server does not notice.
  private func carryCommands(_ index: Int, from client: Int32, to server: Int32) {
    carry(from: client, to: server) { bytes in
      state.withLock { $0.links[index].latest = bytes }
      return true
    }
    if !state.withLock({ $0.links[index].isSilent }) { shutdown(server, Int32(SHUT_RDWR)) }
  }

  private func carryReplies(_ index: Int, from server: Int32, to client: Int32) {
    carry(from: server, to: client) { _ in !state.withLock { $0.links[index].isSilent } }
    shutdown(client, Int32(SHUT_RDWR))
  }

  private func carry(from source: Int32, to target: Int32, _ mayPass: ([UInt8]) -> Bool) {
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = read(source, &chunk, chunk.count)
      guard count > 0 else { return }
      guard mayPass(Array(chunk[..<count])) else { continue }
      var start = 0
      while start < count {
        let written = chunk[start..<count].withUnsafeBytes {
          send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard written > 0 else { return }
        start += written
      }
    }
  }

  private func thread(_ body: @escaping @Sendable (DeafProxy) -> Void) {
    Thread.detachNewThread { body(self) }
  }
}
