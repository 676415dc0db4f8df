import Dispatch
import EventLoop
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Writes lines to a descriptor on a thread of its own, whole and in their order, so that a reader that does not read stops
/// nobody else.
///
/// The descriptor stays blocking, because other processes may share it. Lines of up to `PIPE_BUF` bytes are not mixed with theirs.
final class LogWriter: Sendable {
  static let standardError = LogWriter(descriptor: STDERR_FILENO)

  /// Bytes of lines that wait to be written, at most.
  static let maximumBytes = 1 << 20
  /// Bytes that are written at once, at most, unless one line is longer: the `PIPE_BUF` of Linux.
  private static let chunk = 4096

  private struct Waiting {
    var lines: [[UInt8]] = []
    /// Of ``lines``, and of those that are being written.
    var bytes = 0
    /// Lines since the last one that was written, while nobody reads.
    var dropped = 0
    /// Makes the line that tells how many were dropped.
    var notice: (@Sendable (Int) -> String)?
    /// Whether ``LogWriter/queue`` writes.
    var isWriting = false
    /// Callers that wait for room.
    var callers = 0
  }

  let descriptor: Int32
  private let patience: Duration
  private let waiting = Mutex(Waiting())
  private let queue = DispatchQueue(label: "martlet.log")
  private let room = DispatchSemaphore(value: 0)

  /// `patience` is how long a caller waits for a slow reader before lines are dropped. They are dropped until all others are
  /// written.
  init(descriptor: Int32, patience: Duration = .seconds(1)) {
    self.descriptor = descriptor
    self.patience = patience
  }

  /// Adds a line, with its line end. `notice` makes the line that tells how many were dropped.
  func write(_ line: String, notice: @escaping @Sendable (Int) -> String) {
    let bytes = Array(line.utf8)
    let isAdded = waiting.withLock { waiting in
      let isAdded = add(bytes, to: &waiting)
      if !isAdded { waiting.callers += 1 }
      return isAdded
    }
    if isAdded { return }
    let deadline = DispatchTime.now() + .nanoseconds(Int(patience.unsignedNanoseconds))
    var isInTime = true
    while isInTime {
      isInTime = room.wait(timeout: deadline) == .success
      let isAdded = waiting.withLock { waiting in
        let isAdded = add(bytes, to: &waiting)
        if isAdded || !isInTime { waiting.callers -= 1 }
        guard !isAdded, !isInTime else { return isAdded }
        // The queue writes, and finds the number when all other lines are written.
        waiting.dropped += 1
        waiting.notice = notice
        return false
      }
      if isAdded { return }
    }
  }

  /// Returns false if there is no room: then the caller waits until ``room`` is signalled.
  private func add(_ line: [UInt8], to waiting: inout Waiting) -> Bool {
    guard waiting.dropped == 0 else {
      waiting.dropped += 1
      return true
    }
    guard waiting.bytes == 0 || waiting.bytes + line.count <= LogWriter.maximumBytes else { return false }
    waiting.lines.append(line)
    waiting.bytes += line.count
    guard !waiting.isWriting else { return true }
    waiting.isWriting = true
    queue.async { [self] in writeAll() }
    return true
  }

  /// Returns when every line is written, or after `time`. Returns false if lines are left.
  @discardableResult
  func flush(within time: Duration) -> Bool {
    guard waiting.withLock({ $0.isWriting }) else { return true }
    let written = DispatchSemaphore(value: 0)
    queue.async { written.signal() }
    return written.wait(timeout: .now() + .nanoseconds(Int(time.unsignedNanoseconds))) == .success
  }

  // MARK: - On the queue

  private func writeAll() {
    while let lines = takeLines() {
      var chunk: [UInt8] = []
      for line in lines {
        if !chunk.isEmpty, chunk.count + line.count > LogWriter.chunk { write(&chunk) }
        chunk += line
      }
      write(&chunk)
    }
  }

  /// The lines that wait. Nil when none do: then the next line starts ``writeAll()`` again.
  private func takeLines() -> [[UInt8]]? {
    waiting.withLock { waiting in
      if waiting.lines.isEmpty, waiting.dropped > 0, let notice = waiting.notice {
        let line = Array(notice(waiting.dropped).utf8)
        waiting.dropped = 0
        waiting.lines = [line]
        waiting.bytes += line.count
      }
      waiting.isWriting = !waiting.lines.isEmpty
      guard waiting.isWriting else { return nil }
      defer { waiting.lines = [] }
      return waiting.lines
    }
  }

  private func write(_ chunk: inout [UInt8]) {
    var rest = chunk[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written > 0 {
        rest = rest.dropFirst(written)
      } else if written < 0, errno == EAGAIN {
        // Another process has made the descriptor non-blocking.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if written == 0 || errno != EINTR {
        // Nobody can read it.
        break
      }
    }
    let callers = waiting.withLock {
      $0.bytes -= chunk.count
      return $0.callers
    }
    for _ in 0..<callers { room.signal() }
    chunk.removeAll(keepingCapacity: true)
  }
}
