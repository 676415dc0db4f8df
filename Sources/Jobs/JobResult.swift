public import PushModel

/// The record of a job: the value of `push:result:<id>`.
///
/// `failed` includes `stale`. `accepted` and `failed` together are the devices that need no further attempt. `uncertain` counts
/// pushes, not devices: those that were written to APNs and never answered, in all attempts. A device's entry in `results` is
/// that of its last push.
public struct JobResult: Sendable, Equatable {
  /// Further devices are counted, but not listed.
  public static let maximumResults = 100
  /// Reasons come from outside. Further ones are counted together as `other`.
  public static let maximumReasons = 32

  public let id: String
  public var status: JobStatus
  var attemptNumber: Int32
  /// Why the job has its status: `quiet_hours`, or why it is dead.
  public var reason: String?
  public internal(set) var accepted = 0
  public internal(set) var failed = 0
  public internal(set) var stale = 0
  public internal(set) var uncertain = 0
  /// Refusals by reason, in the order in which they occurred first.
  public internal(set) var reasons: [ReasonCount] = []
  public package(set) var results: [DeviceResult] = []
  public var worker: String
  /// Unix milliseconds.
  public var claimedAt: Int64
  /// Unix milliseconds.
  public var finishedAt: Int64
  var extras: JobResultExtras?
}

extension JobResult {
  public init(
    id: String, status: JobStatus, reason: String? = nil, attempts: Int = 1, worker: String, claimedAt: Int64,
    finishedAt: Int64 = 0
  ) {
    self.init(
      id: id, status: status, attemptNumber: Int32(clamping: attempts), reason: reason, worker: worker,
      claimedAt: claimedAt, finishedAt: finishedAt)
  }

  /// Attempts made, the present one included.
  public var attempts: Int {
    get { Int(attemptNumber) }
    set { attemptNumber = Int32(clamping: newValue) }
  }

  /// Empty for a job that was simply accepted.
  public var history: JobHistory {
    get { extras?.history ?? JobHistory() }
    set { extras = JobResultExtras(history: newValue, trace: trace, turn: turn) }
  }

  /// The `traceparent` of the job.
  public var trace: String? {
    get { extras?.trace }
    set { extras = JobResultExtras(history: history, trace: newValue, turn: turn) }
  }

  /// Of the attempt that has the result.
  public var turn: AttemptTurn {
    get { extras?.turn ?? AttemptTurn() }
    set {
      guard newValue != turn else { return }
      extras = JobResultExtras(history: history, trace: trace, turn: newValue)
    }
  }

  /// Identifies the attempt that wrote the record.
  public var author: String { "\(worker) \(claimedAt)" }

  public mutating func add(_ result: consuming DeviceResult, as outcome: DeviceOutcome) {
    switch outcome {
    case .accepted: accepted += 1
    case .failed: failed += 1
    case .stale:
      failed += 1
      stale += 1
    case .uncertain: uncertain += 1
    }
    if let reason = result.reason { reasons.count(reason, by: 1) }
    list(result)
  }

  /// Adds the result of an earlier attempt.
  public mutating func merge(earlier: JobResult) {
    addCounters(of: earlier)
    let tokens = Set(results.map(\.token))
    let kept = earlier.results.filter { !tokens.contains($0.token) }
    results = Array((kept + results).prefix(JobResult.maximumResults))
  }

  /// Adds the result of one page of a broadcast.
  public mutating func absorb(_ page: JobResult) {
    addCounters(of: page)
    for result in page.results { list(result) }
  }

  /// The status by the counters: `accepted`, `partial`, `failed`, or `no_devices` if nothing was counted.
  @inlinable
  public var settledStatus: JobStatus {
    switch (accepted, failed) {
    case (0, 0): .noDevices
    case (_, 0): .accepted
    case (0, _): .failed
    default: .partial
    }
  }

  private mutating func addCounters(of other: JobResult) {
    accepted += other.accepted
    failed += other.failed
    stale += other.stale
    uncertain += other.uncertain
    for entry in other.reasons { reasons.count(entry.reason, by: entry.count) }
  }

  /// Replaces the entry of a device whose earlier push was uncertain.
  private mutating func list(_ result: consuming DeviceResult) {
    if uncertain > 0, let index = results.firstIndex(where: { $0.token == result.token }) {
      results[index] = result
    } else if results.count < JobResult.maximumResults {
      results.append(result)
    }
  }
}
