/// The record of a job as a producer reads it from `push:result:<id>`.
struct JobRecord: Decodable, Equatable {
  let id: String
  let status: String
  let reason: String?
  let accepted: Int
  let failed: Int
  let stale: Int
  let uncertain: Int
  let reasons: [String: Int]
  let results: [Device]
  let attempts: Int
  let worker: String
  let claimedAt: Int64
  let finishedAt: Int64
  let trace: String?

  struct Device: Decodable, Equatable {
    let token: String
    let ok: Bool
    let status: Int
    let apnsId: String
    let reason: String?
    let uniqueId: String?
  }

  var isFinal: Bool { status != "retrying" && status != "deferred" }

  func device(_ token: String) -> Device? { results.first { $0.token == token } }
}
