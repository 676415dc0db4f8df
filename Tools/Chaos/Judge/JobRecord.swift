import JSON

/// The record of a job, as a producer reads it.
struct JobRecord: Equatable, Sendable {
  /// A device of the record's list.
  struct Entry: Equatable, Sendable {
    let token: String
    let isAccepted: Bool
    let apnsID: String
  }

  let status: String
  var reason: String?
  var accepted = 0
  var failed = 0
  var stale = 0
  var uncertain = 0
  var results: [Entry] = []
  var worker = ""
  /// Unix milliseconds.
  var finishedAt: Int64 = 0

  var isFinal: Bool { status != "retrying" && status != "deferred" }
}

extension JobRecord {
  /// Nil if the text is not a record.
  init?(parsing bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let status = value["status"]?.string else { return nil }
    func count(_ name: String) -> Int { value[name]?.count ?? 0 }
    self.init(
      status: status, reason: value["reason"]?.string, accepted: count("accepted"), failed: count("failed"),
      stale: count("stale"), uncertain: count("uncertain"),
      results: (value["results"]?.array ?? []).map { entry in
        Entry(
          token: entry["token"]?.string ?? "", isAccepted: entry["ok"]?.bool ?? false,
          apnsID: entry["apnsId"]?.string ?? "")
      }, worker: value["worker"]?.string ?? "", finishedAt: value["finishedAt"]?.time ?? 0)
  }
}
