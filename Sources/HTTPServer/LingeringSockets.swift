import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// Connections that the daemon has closed after an answer, while the client may still be sending the body.
///
/// If bytes arrive that nobody reads, the system resets the connection, and the client may lose the answer. So they are read
/// and dropped for a while.
@EventLoop
final class LingeringSockets {
  private static let maximum = 32
  private static let patience = Duration.seconds(2)
  /// Bytes.
  private static let maximumDropped = 1 << 20

  /// The longest waiting first.
  private var sockets: [LingeringSocket] = []

  /// `descriptor`: of the connection, not blocking. The caller closes it.
  func add(_ descriptor: Int32) {
    guard let socket = LingeringSocket(descriptor, maximumDropped: LingeringSockets.maximumDropped) else { return }
    sockets.append(socket)
    if sockets.count > LingeringSockets.maximum { sockets.removeFirst() }
    socket.start(patience: LingeringSockets.patience) { [weak self, weak socket] in
      self?.sockets.removeAll { $0 === socket }
    }
  }
}

@EventLoop
private final class LingeringSocket {
  private let descriptor: Int32
  private var left: Int
  private var source: SocketSource?
  private var timer: LoopTimer?
  private var onEnd: (@EventLoop () -> Void)?

  /// Returns nil if descriptors are exhausted.
  init?(_ other: Int32, maximumDropped: Int) {
    descriptor = fcntl(other, F_DUPFD_CLOEXEC, 0)
    left = maximumDropped
    guard descriptor >= 0 else { return nil }
  }

  func start(patience: Duration, onEnd: @escaping @EventLoop () -> Void) {
    self.onEnd = onEnd
    timer = .after(patience) { [weak self] in self?.onEnd?() }
    source = SocketSource(
      descriptor: descriptor, onReadable: { [weak self] in self?.drop() }, onWritable: {})
    source?.watchReading(true)
  }

  private func drop() {
    let count = withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) {
      read(descriptor, $0.baseAddress, $0.count)
    }
    left -= max(0, count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    if count <= 0 || left < 0 { onEnd?() }
  }

  isolated deinit {
    source?.cancel()
    close(descriptor)
  }
}
