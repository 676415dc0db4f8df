import Backup
import JSON
import Program

/// The output of `martlet tokens`: the progress on a terminal, and the summary.
struct BackupReport {
  let isJSON: Bool

  func progress(_ done: BackupSummary) { progress(done.total) }

  func progress(_ done: BackupExport) { progress(done.devices + done.instances + done.channels) }

  /// `showsLines`: also where the first refused entry of each reason is.
  func imported(_ summary: BackupSummary, showsLines: Bool = false) {
    finishProgress()
    Console.print(
      text(BackupReport.counts(summary), ("refused", summary.refused), showsLines ? summary.firstLines : nil))
  }

  /// Prints the summary of an export, to stderr if the backup itself went to stdout.
  func exported(_ export: BackupExport, isOnStandardOutput: Bool) {
    finishProgress()
    let channels = export.channels == 0 ? [] : [("channels", export.channels)]
    let report = text(
      [("devices", export.devices), ("instances", export.instances)] + channels, ("skipped", export.skipped))
    if isOnStandardOutput { Console.complain(report) } else { Console.print(report) }
  }

  /// Prints what a file has.
  func surveyed(_ survey: DeviceSurvey) {
    let counts = [
      ("devices", survey.valid), ("without a user", survey.anonymous), ("duplicates", survey.duplicates),
    ]
    let groups = survey.groups.sorted { $0.key < $1.key }
    guard isJSON else {
      var rows = groups.map { group, count in
        (
          "devices: \(group.app.isEmpty ? "no app" : group.app), \(group.environment ?? "environment unknown")"
            + (group.kind == "app" ? "" : ", \(group.kind)"), count
        )
      }
      if survey.others > 0 { rows.append(("devices: of other apps", survey.others)) }
      return Console.print(text(counts + rows, ("refused", survey.refused), survey.firstLines))
    }
    let devices = groups.map { group, count in
      ["app": group.app, "environment": group.environment, "kind": group.kind, "count": count] as JSONObject
    }
    Console.print(
      ([
        "devices": survey.valid, "anonymous": survey.anonymous, "duplicates": survey.duplicates, "groups": devices,
        "others": survey.others, "refused": JSONObject(survey.refused), "firstLines": JSONObject(survey.firstLines),
      ] as JSONObject).line)
  }

  /// Prints what was imported before a failure.
  func stopped(_ summary: BackupSummary) {
    finishProgress()
    Console.complain(
      "imported before the failure:\n" + text(BackupReport.counts(summary), ("refused", summary.refused)))
  }

  private static func counts(_ summary: BackupSummary) -> [(String, Int)] {
    [("new", summary.created), ("updated", summary.updated), ("kept", summary.kept)]
      + (summary.notOfAPNs == 0 ? [] : [("no_token_of_apns", summary.notOfAPNs)])
  }

  private func progress(_ count: Int) {
    if Console.isErrorTerminal { Console.showProgress("\(count) entries") }
  }

  private func finishProgress() {
    if Console.isErrorTerminal { Console.showProgress("") }
  }

  private func text(
    _ counts: [(String, Int)], _ rest: (name: String, reasons: [String: Int]), _ lines: [String: Int]? = nil
  ) -> String {
    let reasons = rest.reasons.sorted { $0.key < $1.key }
    guard isJSON else {
      let rows =
        counts.map { [$0.0, "\($0.1)"] + (lines == nil ? [] : [""]) }
        + reasons.map { reason, count in
          ["\(rest.name): \(reason)", "\(count)"] + (lines.map { [$0[reason].map { "\($0)" } ?? ""] } ?? [])
        }
      return Console.table(["entries", "count"] + (lines == nil ? [] : ["first line"]), rows)
    }
    let places = lines.map { ["firstLines": JSONObject($0)] as JSONObject } ?? [:]
    return (JSONObject(counts) + [rest.name: JSONObject(rest.reasons)] + places).line
  }
}
