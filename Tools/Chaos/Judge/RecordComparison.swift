/// Compares the record of a job that has ended with the journal.
struct RecordComparison {
  let record: JobRecord
  /// All pushes of the job that APNs accepted.
  let accepted: [LedgerPush]
  /// Of a job that was accepted for all of them.
  let devices: Int

  /// What is wrong with the record; nil if nothing is. `isForgotten`: the worker that ended the job may not have known of
  /// this push, because another one had sent it and died, or did not receive the answer.
  func contradiction(isForgotten: (LedgerPush) -> Bool) -> String? {
    let expected = record.status == "accepted" ? devices : 0
    if record.accepted != expected || record.failed != 0 || record.stale != 0 {
      return "\(record.accepted) accepted, \(record.failed) failed, \(record.stale) stale of \(expected)"
    }
    if expected == 0, let push = accepted.first(where: { !isForgotten($0) }) {
      return "\(record.status), but \(push.token) was accepted at \(push.arrival)"
    }
    for entry in record.results where !isInJournal(entry) {
      return "it lists \(entry.token) as \(entry.isAccepted ? "accepted" : "refused") under \(entry.apnsID)"
    }
    return nil
  }

  /// A push without an answer is listed too, until the device is tried again.
  private func isInJournal(_ entry: JobRecord.Entry) -> Bool {
    guard entry.isAccepted else { return record.uncertain > 0 && record.status != "accepted" }
    return accepted.contains { $0.token == entry.token && $0.apnsID == entry.apnsID }
  }
}
