/// The record of a job, as it stands under `push:result:<id>`.
///
/// `failed` includes `stale`; `accepted` + `failed` are the devices that have been decided on so far. `uncertain` counts
/// pushes, not devices: those that were written and never answered, over all attempts. A device's entry in `results` is
/// that of its last push.
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

  /// Who wrote it: one attempt at one job.
  public var author: String { "\(worker) \(claimedAt)" }

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
    list(result)
  }

  /// Takes over what an earlier attempt came to.
  public mutating func merge(earlier: JobResult) {
    addCounters(of: earlier)
    let tokens = Set(results.map(\.token))
    let kept = earlier.results.filter { !tokens.contains($0.token) }
    results = Array((kept + results).prefix(JobResult.maximumResults))
  }

  /// Takes in what one page of a broadcast came to.
  public mutating func absorb(_ page: JobResult) {
    addCounters(of: page)
    for result in page.results { list(result) }
  }

  /// What the counters say: `accepted`, `partial`, `failed`, or `no_devices` when nothing was counted.
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
    for entry in other.reasons { count(entry.reason, by: entry.count) }
  }

  /// A device whose push was uncertain is listed already.
  private mutating func list(_ result: DeviceResult) {
    if uncertain > 0, let index = results.firstIndex(where: { $0.token == result.token }) {
      results[index] = result
    } else if results.count < JobResult.maximumResults {
      results.append(result)
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
