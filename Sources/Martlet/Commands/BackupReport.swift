import Backup
import JSON
import Registry

/// What the commands over backup files tell: how far they are, on a terminal, and what they did.
struct BackupReport {
  let isJSON: Bool

  func progress(_ done: BackupSummary) { progress(done.total) }

  func progress(_ done: BackupExport) { progress(done.devices + done.instances) }

  func imported(_ summary: BackupSummary) {
    finishProgress()
    Console.print(text(BackupReport.counts(summary), ("refused", summary.refused)))
  }

  /// To stderr when the backup itself went to stdout.
  func exported(_ export: BackupExport, isOnStandardOutput: Bool) {
    finishProgress()
    let report = text([("devices", export.devices), ("instances", export.instances)], ("skipped", export.skipped))
    if isOnStandardOutput { Console.complain(report) } else { Console.print(report) }
  }

  /// What was done before an import failed.
  func stopped(_ summary: BackupSummary) {
    finishProgress()
    Console.complain("done until then:\n" + text(BackupReport.counts(summary), ("refused", summary.refused)))
  }

  private static func counts(_ summary: BackupSummary) -> [(String, Int)] {
    [("new", summary.created), ("updated", summary.updated), ("kept", summary.kept)]
  }

  private func progress(_ count: Int) {
    if Console.isErrorTerminal { Console.showProgress("\(count) entries") }
  }

  private func finishProgress() {
    if Console.isErrorTerminal { Console.showProgress("") }
  }

  private func text(_ counts: [(String, Int)], _ rest: (name: String, reasons: [String: Int])) -> String {
    let reasons = rest.reasons.sorted { $0.key < $1.key }
    guard isJSON else {
      let rows = counts.map { [$0.0, "\($0.1)"] } + reasons.map { ["\(rest.name): \($0.key)", "\($0.value)"] }
      return Console.table(["entries", "count"], rows)
    }
    var writer = JSONWriter()
    writer.beginObject()
    for (name, count) in counts {
      writer.key(name)
      writer.integer(count)
    }
    writer.key(rest.name)
    writer.beginObject()
    for (reason, count) in reasons {
      writer.key(reason)
      writer.integer(count)
    }
    writer.endObject()
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self) + "\n"
  }
}
