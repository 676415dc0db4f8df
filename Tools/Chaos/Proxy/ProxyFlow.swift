import EventLoop
import Glibc

/// One direction of a link: the bytes that were read from one socket and are due at the other.
@EventLoop
final class ProxyFlow {
  private static let readSize = 64 * 1024
  /// Reading pauses while more bytes wait.
  private static let limit = 4 << 20

  private var waiting: [(bytes: ArraySlice<UInt8>, due: UInt64)] = []
  private var waitingBytes = 0
  private var hasEnded = false
  private var timer: LoopTimer?
  private let source: Int32
  private let target: Int32

  init(from source: Int32, to target: Int32) {
    self.source = source
    self.target = target
  }

  enum Progress {
    case open, ended, failed
  }

  /// Reads and writes nothing more.
  func abandon() {
    (hasEnded, wantsWriting, timer) = (true, false, nil)
    (waiting, waitingBytes) = ([], 0)
  }

  var wantsReading: Bool { !hasEnded && waitingBytes < ProxyFlow.limit }
  /// Its end was read, and nothing waits.
  var isFinished: Bool { hasEnded && waiting.isEmpty }
  private(set) var wantsWriting = false

  /// Reads what has arrived. `delay` is nil if it is to be dropped.
  func read(delay: Duration?) -> Progress {
    var chunk = [UInt8](repeating: 0, count: ProxyFlow.readSize)
    while wantsReading {
      let count = recv(source, &chunk, chunk.count, 0)
      if count > 0 {
        guard let delay else { continue }
        let due = max(Clock.monotonicNanoseconds + delay.unsignedNanoseconds, waiting.last?.due ?? 0)
        waiting.append((chunk[..<count], due))
        waitingBytes += count
        continue
      }
      if count < 0, errno == EAGAIN || errno == EINTR { break }
      hasEnded = true
      if count < 0 { return .failed }
    }
    return hasEnded ? .ended : .open
  }

  /// Writes what is due. Calls `later` when more is due.
  func write(_ later: @escaping @EventLoop () -> Void) -> Progress {
    wantsWriting = false
    while let first = waiting.first {
      let now = Clock.monotonicNanoseconds
      guard first.due <= now else {
        timer = .after(.nanoseconds(Int64(first.due - now)), later)
        return .open
      }
      let count = first.bytes.withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count >= 0 else {
        guard errno == EAGAIN || errno == EINTR else { return .failed }
        wantsWriting = true
        return .open
      }
      waitingBytes -= count
      if count == first.bytes.count { waiting.removeFirst() } else { waiting[0].bytes.removeFirst(count) }
    }
    guard hasEnded else { return .open }
    shutdown(target, Int32(SHUT_WR))
    return .ended
  }
}
