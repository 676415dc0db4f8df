/// The record of a job, as it stands under `push:result:<id>`.
///
/// `failed` includes `stale`; `accepted` + `failed` + `uncertain` are the devices that were decided on so far.
public struct JobResult: Sendable, Equatable {
  /// Devices listed one by one; the counters go on past it.
  public static let maximumResults = 100
  /// Reasons come from outside: past this many they are counted together as `other`.
  public static let maximumReasons = 32

  public let id: String
  public var status: JobStatus
  /// Of a status that has several: `quiet_hours`, or why the job is dead.
  public var reason: String?
  public internal(set) var accepted = 0
  public internal(set) var failed = 0
  public internal(set) var stale = 0
  public internal(set) var uncertain = 0
  /// Refusals by reason, in the order in which they came up.
  public internal(set) var reasons: [ReasonCount] = []
  public internal(set) var results: [DeviceResult] = []
  public var attempts: Int
  public var worker: String
  /// Unix milliseconds.
  public var claimedAt: Int64
  /// Unix milliseconds.
  public var finishedAt: Int64

  public init(
    id: String, status: JobStatus, reason: String? = nil, attempts: Int = 1, worker: String, claimedAt: Int64,
    finishedAt: Int64 = 0
  ) {
    self.id = id
    self.status = status
    self.reason = reason
    self.attempts = attempts
    self.worker = worker
    self.claimedAt = claimedAt
    self.finishedAt = finishedAt
  }

  public mutating func add(_ result: DeviceResult, as outcome: DeviceOutcome) {
    switch outcome {
    case .accepted: accepted += 1
    case .failed: failed += 1
    case .stale:
      failed += 1
      stale += 1
    case .uncertain: uncertain += 1
    }
    if let reason = result.reason { count(reason, by: 1) }
    if results.count < JobResult.maximumResults { results.append(result) }
  }

  /// Takes over what an earlier attempt had settled. Its uncertain devices were tried again, so they are not counted.
  public mutating func merge(earlier: JobResult) {
    accepted += earlier.accepted
    failed += earlier.failed
    stale += earlier.stale
    for entry in earlier.reasons { count(entry.reason, by: entry.count) }
    let tokens = Set(results.map(\.token))
    let kept = earlier.results.filter { !tokens.contains($0.token) }
    results = Array((kept + results).prefix(JobResult.maximumResults))
  }

  /// What the counters say: `accepted`, `partial`, `failed`, or `no_devices` when nothing was counted.
  public var settledStatus: JobStatus {
    switch (accepted, failed + uncertain) {
    case (0, 0): .noDevices
    case (_, 0): .accepted
    case (0, _): .failed
    default: .partial
    }
  }

  private mutating func count(_ reason: String, by amount: Int) {
    if let index = reasons.firstIndex(where: { $0.reason == reason }) {
      reasons[index].count += amount
    } else if reasons.count < JobResult.maximumReasons || reason == "other" {
      reasons.append(ReasonCount(reason: reason, count: amount))
    } else {
      count("other", by: amount)
    }
  }
}
