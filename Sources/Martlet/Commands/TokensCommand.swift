import Backup
import EventLoop
import JSON
import Program
import PushModel
import Registry
import Telemetry
import Usage

/// `martlet tokens`: exports and imports devices, and migrates them from Parse and from other senders.
enum TokensCommand: Command {
  static let usage = CommandUsage(
    "martlet tokens", "export, import or migrate device tokens",
    forms: [
      CommandForm("export", "write a backup", [.file], [json]),
      CommandForm(
        "import", "read a backup, or the devices of another sender", [.file],
        [
          .init("from", .choice("FORMAT", formats), "the file is not a backup, but the devices of another sender"),
          bundle, .init("dry-run", "with --from: read the file without Redis and count what it has"), json,
        ]),
      CommandForm(
        "migrate", "read an export of Parse", [.file],
        [
          bundle, .init("output", .file("FILE"), "where the backup is written; default: stdout"),
          .init("import", "write into Redis instead"), json,
        ], only: [["output", "import"]]),
    ],
    text: """
      FILE is a backup; - is stdout or stdin. export writes every registered device with its owner and every instance's
      device, but no credentials. The file is written under another name with mode 0600 and renamed when it is complete.

        {"com.example.app":{"<token>":{"createdAt":"2024-01-31T09:30:00.000Z","updatedAt":...,"username":...}}}

      environment, kind and deviceId are kept. Devices without an app are under "", instances under "martlet:instances".
      import also reads arrays of such objects and the older notation of the push server. It writes each record unchanged. A
      record in Redis stays if it is as new, or if it has an owner and the file names none; one that is equally new and has
      no app takes that of the file. A user keeps the newest MARTLET_MAX_DEVICES (default 100) devices of each app. An
      import can be interrupted and repeated. An invalid entry is left out and counted by its reason. A file that is not a
      backup ends the import at its first fault (exit code 1).

      import --from reads the devices of another sender. csv has the columns token, user, bundleId, environment, kind,
      deviceId, platform, createdAt, updatedAt, of which only token is needed. A device without a date is older than every
      registration, so that no registration is changed.

      migrate reads an export of Parse's _Installation (an array, {"results":[...]}, or one object per line) and writes the
      iOS devices of the apps named by --bundle.
      """)

  /// The names of the files of other senders.
  private static var formats: [String] { Parts.all.flatMap { $0.deviceFormats }.map(\.name) }
  private static let json = CommandOption("json", "print the counts as JSON")
  private static let bundle = CommandOption(
    "bundle", .text("ID"), isRepeatable: true,
    "an app whose devices migrate takes; with import --from the app, one, of devices of which the file names none")

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let file = line.arguments[0]
    let report = BackupReport(isJSON: line.has("json"))
    do {
      switch line.action {
      case "export": try await export(to: file, report, environment)
      case "import": try await importFile(file, line, report, environment)
      default: try await migrate(file, line, report, environment)
      }
    } catch let failure as BackupFailure {
      report.stopped(failure.done)
      throw CommandError.failed("\(failure.cause)")
    } catch let error as BackupError {
      throw CommandError.failed("\(error)")
    }
    return .done
  }

  private static func export(to file: String, _ report: BackupReport, _ environment: ProcessEnvironment) async throws {
    try await withRegistry(environment) { registry in
      let export = try await registry.exportBackup(path: file, onProgress: report.progress)
      report.exported(export, isOnStandardOutput: file == "-")
    }
  }

  private static func importFile(
    _ file: String, _ line: CommandLineWords, _ report: BackupReport, _ environment: ProcessEnvironment
  ) async throws {
    guard let name = line.value("from") else {
      try line.refuse(["bundle", "dry-run"], "is for import --from")
      return try await withRegistry(environment) { registry in
        report.imported(try await registry.importBackup(path: file, onProgress: report.progress))
      }
    }
    guard let format = Parts.all.flatMap({ $0.deviceFormats }).first(where: { $0.name == name }) else {
      preconditionFailure("the command line allows no other format")
    }
    let app = line.value("bundle")
    guard line.values("bundle").count <= 1, app.map(BundleID.isWellFormed) ?? true else {
      throw CommandError.usage("import takes one --bundle, the bundle id of an app")
    }
    guard !line.has("dry-run") else {
      return report.surveyed(
        try await DeviceSurvey.read(file, format.source(app), maximumDevices: try maximumDevices(environment)))
    }
    try await withRegistry(environment) { registry in
      let summary = try await registry.importBackup(path: file, format.source(app), onProgress: report.progress)
      report.imported(summary, showsLines: true)
    }
  }

  private static func maximumDevices(_ environment: ProcessEnvironment) throws(ConfigurationFaults) -> Int {
    var reader = EnvironmentReader(environment)
    let maximum = SharedSettings.maximumDevices(&reader)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
    return maximum
  }

  @EventLoop
  private static func migrate(
    _ file: String, _ line: CommandLineWords, _ report: BackupReport, _ environment: ProcessEnvironment
  ) async throws {
    let bundleIDs = Set(line.values("bundle"))
    guard !bundleIDs.isEmpty else {
      throw CommandError.usage("migrate needs --bundle ID for each app to include")
    }
    guard line.has("import") else {
      let output = line.value("output") ?? "-"
      let export = try await Migration.convert(file, to: output, bundleIDs: bundleIDs, onProgress: report.progress)
      return report.exported(export, isOnStandardOutput: output == "-")
    }
    try await withRegistry(environment) { registry in
      let summary = try await registry.importBackup(
        path: file, ObjectListReader(.parse(of: bundleIDs)), onProgress: report.progress)
      report.imported(summary, showsLines: true)
    }
  }

  @EventLoop
  private static func withRegistry(
    _ environment: ProcessEnvironment, _ body: @EventLoop (Registry) async throws -> Void
  ) async throws {
    var maximumDevices = Registry.defaultMaximumDevices
    let configuration = try ClientConfiguration(environment) { reader in
      maximumDevices = SharedSettings.maximumDevices(&reader)
    }
    try await configuration.withConnection { connection in
      try await body(Registry(connection: connection, maximumDevices: maximumDevices, log: .silent))
    }
  }
}
