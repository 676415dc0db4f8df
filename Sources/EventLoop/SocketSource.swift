import Dispatch

#if canImport(Glibc)
  import Glibc
#endif

/// Calls its handlers when a non-blocking socket can be read or written.
///
/// Watches duplicates of the descriptor, which are closed in the cancel handlers, so that the owner may close its own
/// at any time. At first neither reading nor writing is watched.
@EventLoop
public final class SocketSource {
  private let readSource: any DispatchSourceRead
  private let writeSource: any DispatchSourceWrite
  private var isReading = false
  private var isWriting = false
  private var isCancelled = false

  /// The caller keeps ownership of `descriptor`. Returns nil if descriptors are exhausted.
  public init?(
    descriptor: Int32, onReadable: @escaping @EventLoop () -> Void, onWritable: @escaping @EventLoop () -> Void
  ) {
    let readDescriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard readDescriptor >= 0 else { return nil }
    let writeDescriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard writeDescriptor >= 0 else {
      close(readDescriptor)
      return nil
    }
    readSource = DispatchSource.makeReadSource(fileDescriptor: readDescriptor, queue: EventLoop.queue)
    writeSource = DispatchSource.makeWriteSource(fileDescriptor: writeDescriptor, queue: EventLoop.queue)
    readSource.setEventHandler { EventLoop.assumeIsolated(onReadable) }
    writeSource.setEventHandler { EventLoop.assumeIsolated(onWritable) }
    readSource.setCancelHandler { close(readDescriptor) }
    writeSource.setCancelHandler { close(writeDescriptor) }
  }

  /// Sets whether `onReadable` is called while there is something to read.
  public func watchReading(_ wanted: Bool) {
    guard wanted != isReading, !isCancelled else { return }
    isReading = wanted
    if wanted { readSource.resume() } else { readSource.suspend() }
  }

  /// Sets whether `onWritable` is called while there is room to write.
  public func watchWriting(_ wanted: Bool) {
    guard wanted != isWriting, !isCancelled else { return }
    isWriting = wanted
    if wanted { writeSource.resume() } else { writeSource.suspend() }
  }

  /// Stops watching. No handler runs afterwards.
  public func cancel() {
    guard !isCancelled else { return }
    isCancelled = true
    readSource.cancel()
    writeSource.cancel()
    // Dispatch traps if a suspended source is released.
    if !isReading { readSource.resume() }
    if !isWriting { writeSource.resume() }
  }

  isolated deinit {
    cancel()
  }
}
