import JSON
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

extension JobResult {
  /// The record of docs/jobs.md, without white space. `nonce` is that of the job's envelope, by which the job recognizes its
  /// record. A job that is simply accepted needs none where record and settlement are one step, because it writes no further
  /// record; elsewhere a worker that comes late may (`isSeparate`). `queue` is that of a job that has not ended.
  public func json(nonce: String? = nil, isSeparate: Bool = false, queue: String? = nil) -> [UInt8] {
    var json = JSONWriter(capacity: 256 + results.count * 192)
    json.beginObject()
    json.member("id", id)
    json.member("status", status.rawValue)
    json.member("reason", reason)
    json.member("accepted", accepted)
    json.member("failed", failed)
    json.member("stale", stale)
    json.member("uncertain", uncertain)
    json.key("reasons")
    reasons.object.write(to: &json)
    json.key("results")
    json.beginArray()
    for result in results { JobResult.write(result, to: &json) }
    json.endArray()
    json.member("attempts", attempts)
    json.member("worker", worker)
    json.member("claimedAt", claimedAt)
    json.member("finishedAt", finishedAt)
    if !history.isEmpty || isSeparate { json.member("nonce", nonce) }
    json.member("queue", queue)
    json.member("turn", turn.text)
    if !history.isEmpty {
      json.key("history")
      history.write(to: &json)
    }
    json.member("trace", trace)
    json.endObject()
    return json.bytes
  }

  private static func write(_ result: DeviceResult, to json: inout JSONWriter) {
    json.beginObject()
    json.member("token", result.token.text)
    json.key("ok")
    json.bool(result.ok)
    json.member("status", result.status)
    json.member("apnsId", result.apnsID)
    json.member("reason", result.reason)
    json.member("uniqueId", result.uniqueID)
    json.endObject()
  }

  /// Reads a record. Members that are missing are zero or empty. Returns nil if it is not JSON or has no id or status.
  public init?(parsing bytes: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return nil }
    guard let id = value["id"]?.string, let status = value["status"]?.string.flatMap(JobStatus.init) else { return nil }
    self.init(
      id: id, status: status, reason: value["reason"]?.string, attempts: JobResult.count(value["attempts"]),
      worker: value["worker"]?.string ?? "", claimedAt: value["claimedAt"]?.time ?? 0,
      finishedAt: value["finishedAt"]?.time ?? 0)
    trace = value["trace"]?.string
    turn = AttemptTurn(value["turn"]?.string)
    accepted = JobResult.count(value["accepted"])
    failed = JobResult.count(value["failed"])
    stale = JobResult.count(value["stale"])
    uncertain = JobResult.count(value["uncertain"])
    reasons = .init(value["reasons"])
    results = (value["results"]?.array ?? []).prefix(JobResult.maximumResults).compactMap(DeviceResult.init)
    history = JobHistory(value["history"])
  }

  /// At most 2^32, so that `Int` holds sums of many of them. 0 for any other value.
  static func count(_ value: JSONValue?) -> Int {
    value?.integer(in: 0...1 << 32).map { Int($0) } ?? 0
  }
}

extension DeviceResult {
  /// Returns nil if there is no token.
  fileprivate init?(_ value: JSONValue) {
    guard let token = value["token"]?.string else { return nil }
    self.init(
      token: DeviceToken(token), ok: value["ok"]?.bool ?? false, status: JobResult.count(value["status"]),
      apnsID: value["apnsId"]?.string ?? "", reason: value["reason"]?.string,
      uniqueID: value["uniqueId"]?.string)
  }
}
