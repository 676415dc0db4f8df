import Backup
import EventLoop
import JSON
import Registry
import Telemetry

/// `martlet tokens`: exports and imports devices, and migrates them from Parse.
enum TokensCommand: Command {
  static let name = "tokens"
  static let summary = "export, import or migrate device tokens"
  static let help = """
    usage: martlet tokens export FILE [--json]
           martlet tokens import FILE [--json]
           martlet tokens migrate FILE --bundle ID ... [--output FILE | --import] [--json]

    FILE is a backup; - is stdout or stdin. export writes every registered device with its owner and every instance's
    device, but no credentials. The file is written under another name with mode 0600 and renamed when it is complete.

      {"com.example.app":{"<token>":{"createdAt":"2024-01-31T09:30:00.000Z","updatedAt":...,"username":...}}}

    environment, kind and deviceId are kept. Devices without an app are under "", instances under "martlet:instances". import also reads arrays of such objects and
    the older notation of the push server. It writes each record unchanged. A record in Redis stays if it is as new, or if it
    has an owner and the file names none; one that is equally new and has no app takes that of the file. A user keeps the newest MARTLET_MAX_DEVICES (default 100) devices of each app and kind. An
    import can be interrupted and repeated. An invalid entry is left out and counted by its reason. A file that is not a backup ends the
    import at its first fault (exit code 1).

    migrate reads an export of Parse's _Installation (an array, {"results":[...]}, or one object per line) and includes the
    iOS devices of the apps named by --bundle. It writes a backup to stdout or to --output, or with --import into Redis.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, options: ["bundle", "output"], flags: ["import", "json"])
    guard line.positional.count == 2 else {
      throw CommandError.usage("expected export, import or migrate, and a file")
    }
    let file = line.positional[1]
    let report = BackupReport(isJSON: line.has("json"))
    do {
      switch line.positional[0] {
      case "export":
        try refuse(["bundle", "output", "import"], line)
        try await export(to: file, report)
      case "import":
        try refuse(["bundle", "output", "import"], line)
        try await withRegistry { registry in
          let summary = try await registry.importBackup(path: file, onProgress: report.progress)
          report.imported(summary)
        }
      case "migrate": try await migrate(file, line, report)
      default: throw CommandError.usage("expected export, import or migrate")
      }
    } catch let failure as BackupFailure {
      report.stopped(failure.done)
      throw CommandError.failed("\(failure.cause)")
    } catch let error as BackupError {
      throw CommandError.failed("\(error)")
    }
    return .done
  }

  private static func export(to file: String, _ report: BackupReport) async throws {
    try await withRegistry { registry in
      let export = try await registry.exportBackup(path: file, onProgress: report.progress)
      report.exported(export, isOnStandardOutput: file == "-")
    }
  }

  @EventLoop
  private static func migrate(_ file: String, _ line: CommandLineWords, _ report: BackupReport) async throws {
    let bundleIDs = Set(line.values("bundle"))
    guard !bundleIDs.isEmpty else {
      throw CommandError.usage("migrate needs --bundle ID for each app to include")
    }
    guard line.has("import") else {
      let output = line.value("output") ?? "-"
      let export = try await Migration.convert(file, to: output, bundleIDs: bundleIDs, onProgress: report.progress)
      return report.exported(export, isOnStandardOutput: output == "-")
    }
    guard line.value("output") == nil else {
      throw CommandError.usage("--import writes into Redis and cannot be used with --output")
    }
    try await withRegistry { registry in
      let summary = try await registry.importInstallations(
        path: file, bundleIDs: bundleIDs, onProgress: report.progress)
      report.imported(summary)
    }
  }

  private static func withRegistry(_ body: @EventLoop (Registry) async throws -> Void) async throws {
    var maximumDevices = Registry.defaultMaximumDevices
    let configuration = try ClientConfiguration { reader in
      maximumDevices = SharedSettings.maximumDevices(&reader)
    }
    try await configuration.withConnection { [maximumDevices] connection in
      try await body(Registry(connection: connection, maximumDevices: maximumDevices, log: .silent))
    }
  }

  private static func refuse(_ names: [String], _ line: CommandLineWords) throws(CommandError) {
    for name in names where line.has(name) || line.value(name) != nil {
      throw .usage("--\(name) is for migrate only")
    }
  }
}

/// The output of `martlet tokens`: the progress on a terminal, and the summary.
struct BackupReport {
  let isJSON: Bool

  func progress(_ done: BackupSummary) { progress(done.total) }

  func progress(_ done: BackupExport) { progress(done.devices + done.instances + done.channels) }

  func imported(_ summary: BackupSummary) {
    finishProgress()
    Console.print(text(BackupReport.counts(summary), ("refused", summary.refused)))
  }

  /// Prints the summary of an export, to stderr if the backup itself went to stdout.
  func exported(_ export: BackupExport, isOnStandardOutput: Bool) {
    finishProgress()
    let channels = export.channels == 0 ? [] : [("channels", export.channels)]
    let report = text(
      [("devices", export.devices), ("instances", export.instances)] + channels, ("skipped", export.skipped))
    if isOnStandardOutput { Console.complain(report) } else { Console.print(report) }
  }

  /// Prints what was imported before a failure.
  func stopped(_ summary: BackupSummary) {
    finishProgress()
    Console.complain(
      "imported before the failure:\n" + text(BackupReport.counts(summary), ("refused", summary.refused)))
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
    return (JSONObject(counts) + [rest.name: JSONObject(rest.reasons)]).line
  }
}
