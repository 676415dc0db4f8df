import EventLoop
import Glibc

/// Forwards TCP connections of the loopback interface, with faults on request.
@EventLoop
final class FaultProxy {
  let port: Int
  /// Called with the port from which the server sees each new connection.
  var onConnect: (@EventLoop (Int) -> Void)?
  private let listener: Int32
  private var source: SocketSource?
  private let server: @EventLoop () -> Int?
  private var links: [ObjectIdentifier: ProxyLink] = [:]
  private(set) var mode = ProxyMode.forward

  /// `server` returns the port of the server at present; nil refuses a connection.
  init(to server: @escaping @EventLoop () -> Int?) throws(SocketError) {
    (listener, port) = try LoopbackSocket.listening()
    self.server = server
    source = SocketSource(descriptor: listener, onReadable: { [unowned self] in accept() }, onWritable: {})
    source?.watchReading(true)
  }

  isolated deinit {
    close()
  }

  /// The number of open connections.
  var count: Int { links.count }

  /// The number of open connections that have lost bytes.
  var deafCount: Int { links.values.count { $0.isDeaf } }

  /// Applies to open connections too. Connections that have lost bytes are closed when a mode other than swallow begins.
  func set(_ mode: ProxyMode) {
    self.mode = mode
    guard mode != .swallow else { return }
    for link in links.values where link.isDeaf { link.close() }
  }

  /// Closes all connections.
  func cut() {
    for link in links.values { link.close() }
  }

  func close() {
    guard let source else { return }
    source.cancel()
    self.source = nil
    Glibc.close(listener)
    cut()
  }

  private func accept() {
    while let client = LoopbackSocket.accepted(by: listener) {
      guard mode != .refuse, let port = server(), let server = LoopbackSocket.connecting(to: port) else {
        Glibc.close(client)
        continue
      }
      let link = ProxyLink(
        client: client, server: server, mode: { [weak self] in self?.mode ?? .forward },
        onClose: { [weak self] link in self?.links[ObjectIdentifier(link)] = nil })
      links[ObjectIdentifier(link)] = link
      onConnect?(link.port)
    }
  }
}
