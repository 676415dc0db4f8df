/// The record of a job as a producer reads it from `push:result:<id>`.
package struct JobRecord: Decodable, Equatable {
  package let id: String
  package let status: String
  package let reason: String?
  package let accepted: Int
  package let failed: Int
  package let stale: Int
  package let uncertain: Int
  package let reasons: [String: Int]
  package let results: [Device]
  package let attempts: Int
  package let worker: String
  package let claimedAt: Int64
  package let finishedAt: Int64
  package let trace: String?

  package struct Device: Decodable, Equatable {
    package let token: String
    package let ok: Bool
    package let status: Int
    package let apnsId: String
    package let reason: String?
    package let uniqueId: String?

    package init(token: String, ok: Bool, status: Int, apnsId: String, reason: String?, uniqueId: String?) {
      self.token = token
      self.ok = ok
      self.status = status
      self.apnsId = apnsId
      self.reason = reason
      self.uniqueId = uniqueId
    }
  }

  package var isFinal: Bool { status != "retrying" && status != "deferred" }

  package func device(_ token: String) -> Device? { results.first { $0.token == token } }
}
