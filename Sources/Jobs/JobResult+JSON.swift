import JSON

extension JobResult {
  /// The record of docs/jobs.md, without white space.
  public func json() -> [UInt8] {
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
    reasons.write(to: &json)
    json.key("results")
    json.beginArray()
    for result in results { JobResult.write(result, to: &json) }
    json.endArray()
    json.member("attempts", attempts)
    json.member("worker", worker)
    json.member("claimedAt", claimedAt)
    json.member("finishedAt", finishedAt)
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
    json.member("token", result.token)
    json.key("ok")
    json.bool(result.ok)
    json.member("status", result.status)
    json.member("apnsId", result.apnsID)
    json.member("reason", result.reason)
    json.endObject()
  }

  /// Reads a record. Members that are missing are zero or empty. Returns nil if it is not JSON or has no id or status.
  public init?(parsing bytes: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return nil }
    guard let id = value["id"]?.string, let status = value["status"]?.string.flatMap(JobStatus.init) else { return nil }
    func integer(_ key: String) -> Int64 { value[key]?.integer ?? 0 }
    self.init(
      id: id, status: status, reason: value["reason"]?.string, attempts: Int(integer("attempts")),
      worker: value["worker"]?.string ?? "", claimedAt: integer("claimedAt"), finishedAt: integer("finishedAt"))
    trace = value["trace"]?.string
    accepted = JobResult.count(value["accepted"])
    failed = JobResult.count(value["failed"])
    stale = JobResult.count(value["stale"])
    uncertain = JobResult.count(value["uncertain"])
    reasons = .init(value["reasons"])
    results = (value["results"]?.array ?? []).prefix(JobResult.maximumResults).compactMap(DeviceResult.init)
    history = JobHistory(value["history"])
  }

  /// At most 2^32, so that sums of stored numbers never overflow.
  static func count(_ value: JSONValue?) -> Int {
    Int(min(max(value?.integer ?? 0, 0), 1 << 32))
  }
}

extension DeviceResult {
  /// Returns nil if there is no token.
  fileprivate init?(_ value: JSONValue) {
    guard let token = value["token"]?.string else { return nil }
    self.init(
      token: token, ok: value["ok"]?.bool ?? false, status: Int(value["status"]?.integer ?? 0),
      apnsID: value["apnsId"]?.string ?? "", reason: value["reason"]?.string)
  }
}
