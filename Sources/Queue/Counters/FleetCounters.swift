public import EventLoop
public import Jobs
package import Redis

/// Counts what a worker does, and adds it to the counters of the fleet in Redis every few seconds.
///
/// Redis' clock decides in which minute something is counted: that in which it is written. What could not be written is
/// added to the next write. If only the answer of Redis was lost, it is counted twice.
@EventLoop
public final class FleetCounters {
  private let connection: RedisClient
  private var slots: CounterSlots
  /// What is not written yet, of earlier intervals.
  private var pending = CounterBatch()
  private var isWriting = false
  private var timer: LoopTimer?
  /// What to add to this machine's clock for the clock of Redis, in minutes. Learned from Redis.
  private var minuteOffset: Int64
  private var records = RecordRate()

  /// Whether nothing is written to Redis, which is full. What is counted is written later.
  var isSuspended = false

  /// - Parameter queues: in the order of ``Claim/queueIndex``.
  package init(connection: RedisClient, queues: [String], minuteOffset: Int64 = 0) {
    self.connection = connection
    slots = CounterSlots(queues: queues)
    self.minuteOffset = minuteOffset
  }

  // MARK: - Counting

  public func claimed(_ jobs: Int, queueIndex: Int) { slots.claimed(jobs, queueIndex: queueIndex) }

  /// Counts the end of an attempt. `latency` is how long the job took from `enqueuedAt`, or `sendAt`, to its end, in
  /// milliseconds; nil if that is unknown, or the job has not ended.
  public func ended(_ status: JobStatus, latency: Int64? = nil) {
    slots.ended(status, latency: latency.map { max(0, Int(clamping: $0)) })
  }

  /// Counts a push to an app.
  public func pushed(_ push: CountedPush, app: String) { slots.pushed(push, app: app) }

  /// Counts an answer of APNs that was not an acceptance.
  public func refused(because reason: String) { slots.refused(because: reason) }

  /// Counts the bytes that the record of an accepted job takes.
  public func recorded(_ bytes: Int) {
    slots.recorded(bytes)
    records.add(bytes)
  }

  /// The bytes of such records that the fleet writes in a second. `seconds` have passed since the last look.
  func recordRate(after seconds: Double) -> RecordRate.PerSecond { records.look(after: seconds) }

  /// This worker's share of these bytes.
  var shareOfRecords: Double { records.ownShare }

  // MARK: - Writing

  public func start() {
    connection.preload([QueueScripts.addCountersScript])
    timer = .every(CounterLimits.writeInterval) { [weak self] in self?.write() }
  }

  /// Writes what has been counted; for the end of a worker.
  public func stop() {
    timer = nil
    write()
  }

  func write() {
    slots.move(to: &pending)
    guard !isWriting, !isSuspended, !pending.isEmpty, connection.isReady else { return }
    let batch = pending
    pending = CounterBatch()
    isWriting = true
    write(batch, minute: Clock.unixMilliseconds / 60_000 + minuteOffset, mayCorrect: true)
  }

  /// If the minute of Redis is another one, it is used instead.
  private func write(_ batch: CounterBatch, minute: Int64, mayCorrect: Bool) {
    connection.send(FleetCounters.call(batch, minute: minute)) { [weak self] result in
      guard let self else { return }
      isWriting = false
      switch result {
      case .success(.array(let total)):
        let own = batch.additions[CounterField.recordBytes]?.amount ?? 0
        records.addFleet(
          total.first?.integer ?? 0, own: Int64(own), minute: minute, now: Clock.monotonicNanoseconds)
      case .success(let value):
        guard mayCorrect, let actual = value.integer else { return pending.merge(batch) }
        minuteOffset += actual - minute
        isWriting = true
        write(batch, minute: actual, mayCorrect: false)
      case .failure: pending.merge(batch)
      }
    }
  }
}

/// The keys of the counters, all in one hash slot.
package enum CounterKeys {
  /// | `martlet:{counters}:minute:<n>`, `martlet:{counters}:hour:<n>` | hash | 73 h, 74 h | what the fleet did in a minute
  /// or an hour (since 1970, by the clock of Redis), at most 480 fields, written by each worker every 5 s: `jobs:<status>`,
  /// `pushes:<outcome>`, `refused:<reason>`, `claimed:<queue>`, `app:accepted:<bundleId>`, `app:failed:<bundleId>`; of jobs
  /// with `enqueuedAt` `latency:sum` (ms) and `latency:<ms>`, the jobs that took at most this long and longer than the
  /// bound before. About 3 MB with one app. |
  package static func minute(_ number: Int64) -> String { "martlet:{counters}:minute:\(number)" }

  /// Hash: the counters of an hour since 1970.
  package static func hour(_ number: Int64) -> String { "martlet:{counters}:hour:\(number)" }
}

extension FleetCounters {
  private static func call(_ batch: CounterBatch, minute: Int64) -> RedisCall {
    var call = QueueScripts.addCounters(
      minute: CounterKeys.minute(minute), hour: CounterKeys.hour(minute / 60), number: minute,
      minuteLife: CounterLimits.minuteTimeToLive.components.seconds,
      hourLife: CounterLimits.hourTimeToLive.components.seconds, most: CounterLimits.maximumFields,
      watched: CounterField.recordBytes, additions: RedisList())
    for (field, addition) in batch.additions {
      call.append(field)
      call.append(addition.fallback ?? "")
      call.append(addition.amount)
    }
    return call
  }
}
