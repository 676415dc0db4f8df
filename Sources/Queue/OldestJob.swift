import EventLoop
import Jobs
import Redis

/// Reads since when the oldest job of a queue waits: the job at the end of its list, if it is a producer's.
///
/// The fleet's own elements are not considered. They were claimed before, or waited for their time in a sorted set, so
/// their age does not show how long jobs wait in the queue.
@EventLoop
final class OldestJob {
  /// Redis copies an element to answer. A large one is not asked for at each reading.
  private static let pauseAfterLargeElement = Duration.seconds(60)

  private let keys: QueueKeys
  private let connection: RedisClient
  private let waitingSince: WaitingSince
  /// Nanoseconds of the monotonic clock.
  private var notBefore: UInt64 = 0
  /// Unix milliseconds; nil if the queue is empty or its oldest job does not tell.
  private var since: Int64?

  init(keys: QueueKeys, connection: RedisClient, waitingSince: @escaping WaitingSince) {
    self.keys = keys
    self.connection = connection
    self.waitingSince = waitingSince
  }

  /// Seconds; nil if they are unknown.
  var age: Double? {
    since.map { OldestJob.age(since: $0, now: Clock.unixMilliseconds) }
  }

  func read() {
    guard Clock.monotonicNanoseconds >= notBefore else { return since = nil }
    let call = QueueScripts.oldest(queue: keys.queue, seal: keys.seal, limit: Job.maximumBytes)
    connection.send(call) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(.integer):
        notBefore = Clock.monotonicNanoseconds + UInt64(OldestJob.pauseAfterLargeElement.nanoseconds)
        since = nil
      case .success(let value): since = value.bytes.flatMap(waitingSince)
      case .failure: since = nil
      }
    }
  }

  /// Both times are in unix milliseconds. The producer's clock may be ahead.
  static func age(since: Int64, now: Int64) -> Double {
    Double(max(0, now - since)) / 1000
  }
}
