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
  private let upstream: Upstream

  private enum Upstream {
    case path(String)
    case port(Int)
  }

  /// To a unix socket.
  convenience init(to path: String) throws {
    try self.init(.path(path), port: try freePort())
  }

  /// To another port of the loopback.
  convenience init(toPort port: Int, listeningOn own: Int) throws {
    try self.init(.port(port), port: own)
  }

  private init(_ upstream: Upstream, port: Int) throws {
    self.upstream = upstream
    self.port = port
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let isBound = DeafProxy.withLoopback(port) { bind(listener, $0, $1) == 0 }
    guard isBound, listen(listener, 64) == 0 else { throw TestTimeout("the proxy cannot listen: \(errno)") }
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
    let family = if case .path = upstream { AF_UNIX } else { AF_INET }
    let server = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let isConnected =
      switch upstream {
      case .path(let path): DeafProxy.withPath(path) { connect(server, $0, $1) == 0 }
      case .port(let port): DeafProxy.withLoopback(port) { connect(server, $0, $1) == 0 }
      }
    if isConnected { return server }
    Glibc.close(server)
    return nil
  }

  private static func withPath<T>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    return withGeneric(address, body)
  }

  private static func withLoopback<T>(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return withGeneric(address, body)
  }

  private static func withGeneric<Address, T>(
    _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T
  ) -> T {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Address>.size)) }
    }
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
