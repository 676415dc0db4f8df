import JSON
import PushModel

extension JobResult {
  /// The record of docs/jobs.md, without white space. `nonce` is that of the job's envelope, by which the job recognizes its
  /// record. A job that is simply accepted needs none where record and settlement are one step, because it writes no further
  /// record; elsewhere a worker that comes late may (`isSeparate`).
  public func json(nonce: String? = nil, isSeparate: Bool = false) -> [UInt8] {
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
