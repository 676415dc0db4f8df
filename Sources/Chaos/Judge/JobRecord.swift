import JSON

/// The record of a job, as a producer reads it.
struct JobRecord: Equatable, Sendable {
  let status: String
  let reason: String?
  let uncertain: Int
  let worker: String
  /// Unix milliseconds.
  let finishedAt: Int64

  /// Nil if the text is not a record.
  init?(parsing bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let status = value["status"]?.string else { return nil }
    self.init(
      status: status, reason: value["reason"]?.string, uncertain: Int(value["uncertain"]?.integer ?? 0),
      worker: value["worker"]?.string ?? "", finishedAt: value["finishedAt"]?.integer ?? 0)
  }

  init(status: String, reason: String? = nil, uncertain: Int = 0, worker: String = "", finishedAt: Int64 = 0) {
    self.status = status
    self.reason = reason
    self.uncertain = uncertain
    self.worker = worker
    self.finishedAt = finishedAt
  }

  var isFinal: Bool { status != "retrying" && status != "deferred" }
}
