import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// One end of the socket between the supervisor and a worker process.
///
/// Its end is also how each notices the death of the other: the kernel closes the sockets of a process, however it ends.
@EventLoop
final class Channel {
  /// More unsent bytes than this mean that the other side does not read. Commands are a few bytes.
  private static let maximumUnsentBytes = 2 * ChannelMessage.maximumBodyBytes
  private static let readBytes = 64 * 1024

  private let descriptor: Int32
  private let onMessage: @EventLoop (ChannelMessage) -> Void
  private let onClose: @EventLoop () -> Void
  private var source: SocketSource?
  private var received: [UInt8] = []
  private var unsent: ArraySlice<UInt8> = []
  private var isClosed = false

  /// Takes ownership of a non-blocking `descriptor`. `onClose` is called once, when the other side has closed its end. Nil if
  /// descriptors are exhausted.
  init?(
    _ descriptor: Int32, onMessage: @escaping @EventLoop (ChannelMessage) -> Void,
    onClose: @escaping @EventLoop () -> Void
  ) {
    self.descriptor = descriptor
    self.onMessage = onMessage
    self.onClose = onClose
    source = SocketSource(
      descriptor: descriptor, onReadable: { [weak self] in self?.read() },
      onWritable: { [weak self] in self?.flush() })
    guard let source else { return nil }
    source.watchReading(true)
  }

  /// A pair of connected sockets, which are closed in programs that are started, unless they are passed on. Nil if descriptors are
  /// exhausted.
  nonisolated static func pair() -> (own: Int32, other: Int32)? {
    var descriptors: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    return socketpair(AF_UNIX, kind, 0, &descriptors) == 0 ? (descriptors[0], descriptors[1]) : nil
  }

  /// Whether a descriptor is a socket of ``pair()``.
  nonisolated static func isChannel(_ descriptor: Int32) -> Bool {
    var (kind, family): (Int32, Int32) = (0, 0)
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0
      && getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0
      && kind == Int32(SOCK_STREAM.rawValue) && family == AF_UNIX
  }

  /// Sends in order. Does nothing after the end.
  func send(_ message: ChannelMessage) {
    guard !isClosed else { return }
    guard unsent.count <= Channel.maximumUnsentBytes else { return end() }
    unsent += message.bytes
    flush()
  }

  /// Closes this end without calling `onClose`.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    source?.cancel()
    source = nil
    Glibc.close(descriptor)
  }

  private func end() {
    guard !isClosed else { return }
    close()
    onClose()
  }

  private func flush() {
    while !unsent.isEmpty {
      let count = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { break }
      // The other side has ended. What it sent before is still read.
      guard count > 0 else {
        unsent = []
        break
      }
      unsent = unsent.dropFirst(count)
    }
    if unsent.isEmpty { unsent = [] }
    source?.watchWriting(!unsent.isEmpty)
  }

  private func read() {
    var chunk = [UInt8](repeating: 0, count: Channel.readBytes)
    while !isClosed {
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { return }
      guard count > 0 else { return end() }
      received += chunk[..<count]
      deliver()
    }
  }

  private func deliver() {
    do throws(ChannelError) {
      while !isClosed, let message = try ChannelMessage.take(from: &received) { onMessage(message) }
    } catch {
      end()
    }
  }

  isolated deinit {
    close()
  }
}
