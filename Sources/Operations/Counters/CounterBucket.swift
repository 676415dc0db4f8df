public import Jobs
public import Queue
import JSON

/// What the fleet did in one minute or one hour.
public struct CounterBucket: Sendable, Equatable {
  public struct App: Sendable, Equatable {
    public var accepted = 0
    /// Stale ones included.
    public var failed = 0
  }

  /// Unix seconds.
  public var start: Int64
  /// 60 or 3,600; for a sum of buckets, their total.
  public var seconds: Int64
  /// Attempts by the status in which they ended. Retries are those with ``JobStatus/retrying``.
  public internal(set) var jobs: [JobStatus: Int] = [:]
  public internal(set) var pushes: [CountedPush: Int] = [:]
  /// Answers of APNs that were no acceptance, by reason.
  public internal(set) var refusals: [String: Int] = [:]
  /// Claimed jobs by queue.
  public internal(set) var claims: [String: Int] = [:]
  /// Pushes by app.
  public internal(set) var apps: [String: App] = [:]
  /// The latencies of jobs with `enqueuedAt`.
  public internal(set) var latency = LatencyCounts()

  /// Jobs that ended for good.
  public var endedJobs: Int { jobs.reduce(0) { $0 + ($1.key.isFinal ? $1.value : 0) } }
  public var retries: Int { jobs[.retrying] ?? 0 }
  public var accepted: Int { pushes[.accepted] ?? 0 }
  /// Stale ones included.
  public var failed: Int { (pushes[.failed] ?? 0) + stale }
  public var stale: Int { pushes[.stale] ?? 0 }
  public var uncertain: Int { pushes[.uncertain] ?? 0 }
  public var isEmpty: Bool {
    jobs.isEmpty && pushes.isEmpty && refusals.isEmpty && claims.isEmpty && apps.isEmpty && latency.count == 0
  }

  /// Returns a rate: `count` for each second.
  public func perSecond(_ count: Int) -> Double { Double(count) / Double(max(1, seconds)) }

  /// The sum of buckets that follow one another.
  public static func sum(_ buckets: some Sequence<CounterBucket>) -> CounterBucket {
    var sum: CounterBucket?
    for bucket in buckets { sum = sum.map { $0.adding(bucket) } ?? bucket }
    return sum ?? CounterBucket(start: 0, seconds: 0)
  }

  private func adding(_ other: CounterBucket) -> CounterBucket {
    var sum = self
    sum.start = min(start, other.start)
    sum.seconds += other.seconds
    sum.jobs.merge(other.jobs, uniquingKeysWith: +)
    sum.pushes.merge(other.pushes, uniquingKeysWith: +)
    sum.refusals.merge(other.refusals, uniquingKeysWith: +)
    sum.claims.merge(other.claims, uniquingKeysWith: +)
    sum.apps.merge(other.apps) { App(accepted: $0.accepted + $1.accepted, failed: $0.failed + $1.failed) }
    sum.latency.add(other.latency)
    return sum
  }
}

extension CounterBucket {
  /// Sums of these fit.
  private static let amounts = 1...1 << 48

  /// Reads a field of the hash. Ignores a field that this version does not know, and an amount that is no number.
  mutating func read(_ field: String, _ text: String) {
    guard let amount = text.integer(in: CounterBucket.amounts) else { return }
    if field == CounterField.latencySum {
      latency.sum = amount
    } else if let name = field.after(CounterField.jobs) {
      if let status = JobStatus(rawValue: name) { jobs[status] = amount }
    } else if let name = field.after(CounterField.pushes) {
      if let push = CountedPush(rawValue: name) { pushes[push] = amount }
    } else if let name = field.after(CounterField.refused) {
      refusals[CounterField.name(name)] = amount
    } else if let name = field.after(CounterField.claimed) {
      claims[CounterField.name(name)] = amount
    } else if let name = field.after(CounterField.appAccepted) {
      apps[CounterField.name(name), default: App()].accepted = amount
    } else if let name = field.after(CounterField.appFailed) {
      apps[CounterField.name(name), default: App()].failed = amount
    } else if let bucket = CounterField.latencies.firstIndex(of: field) {
      latency.buckets[bucket] = amount
    }
  }
}

extension String {
  /// The rest after `prefix`; nil if it does not begin with it.
  fileprivate func after(_ prefix: String) -> String? {
    utf8.starts(with: prefix.utf8) ? String(utf8.dropFirst(prefix.utf8.count)) : nil
  }
}
