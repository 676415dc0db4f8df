import EventLoop
import Glibc

/// A connection of a client and the connection to the server that belongs to it.
@EventLoop
final class ProxyLink {
  private let client: Int32
  private let server: Int32
  private let commands: ProxyFlow
  private let replies: ProxyFlow
  private var clientSource: SocketSource?
  private var serverSource: SocketSource?
  private let mode: @EventLoop () -> ProxyMode
  private let onClose: @EventLoop (ProxyLink) -> Void
  /// The port from which the server sees the connection.
  let port: Int
  /// Bytes were dropped, so the link must never forward again.
  private(set) var isDeaf = false

  /// Takes ownership of the descriptors.
  init(
    client: Int32, server: Int32, mode: @escaping @EventLoop () -> ProxyMode,
    onClose: @escaping @EventLoop (ProxyLink) -> Void
  ) {
    self.client = client
    self.server = server
    self.mode = mode
    self.onClose = onClose
    commands = ProxyFlow(from: client, to: server)
    replies = ProxyFlow(from: server, to: client)
    port = LoopbackSocket.localPort(of: server)
    clientSource = SocketSource(
      descriptor: client, onReadable: { [unowned self] in move(commands) },
      onWritable: { [unowned self] in flush(replies) })
    serverSource = SocketSource(
      descriptor: server, onReadable: { [unowned self] in move(replies) },
      onWritable: { [unowned self] in flush(commands) })
    watch()
  }

  /// Closes both connections. Bytes that wait are lost.
  func close() {
    guard let clientSource, let serverSource else { return }
    clientSource.cancel()
    serverSource.cancel()
    (self.clientSource, self.serverSource) = (nil, nil)
    for descriptor in [client, server] { Glibc.close(descriptor) }
    onClose(self)
  }

  private func move(_ flow: ProxyFlow) {
    let mode = mode()
    if mode == .swallow { isDeaf = true }
    // What a server sent before it closed the connection arrives, also if it had not read everything: the error follows
    // the bytes. Of a deaf link the other end does not learn the end.
    if flow.read(delay: isDeaf ? nil : delay(mode)) != .open, isDeaf { return watch() }
    flush(flow)
  }

  private func delay(_ mode: ProxyMode) -> Duration {
    if case .delay(let delay) = mode { delay } else { .zero }
  }

  private func flush(_ flow: ProxyFlow) {
    guard clientSource != nil else { return }
    let progress = flow.write { [weak self, weak flow] in
      if let self, let flow { flush(flow) }
    }
    switch progress {
    case .open: watch()
    // Its end cannot be written to any more, but what it has sent is under way.
    case .failed where flow === commands:
      commands.abandon()
      move(replies)
    // The end of one direction takes nothing from the other: what it holds or still receives arrives first.
    case .ended where !(commands.isFinished && replies.isFinished): watch()
    case .ended, .failed: close()
    }
  }

  private func watch() {
    clientSource?.watchReading(commands.wantsReading)
    serverSource?.watchReading(replies.wantsReading)
    clientSource?.watchWriting(replies.wantsWriting)
    serverSource?.watchWriting(commands.wantsWriting)
  }
}
