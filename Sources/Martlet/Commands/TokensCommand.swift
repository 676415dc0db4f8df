import Backup
import EventLoop
import Registry
import Telemetry

/// `martlet tokens`: backup, its import, and the move from Parse.
enum TokensCommand: Command {
  static let name = "tokens"
  static let summary = "export, import or migrate device tokens"
  static let help = """
    usage: martlet tokens export FILE [--json]
           martlet tokens import FILE [--json]
           martlet tokens migrate FILE --bundle ID ... [--output FILE | --import] [--json]

    FILE is a backup; - means stdout, or stdin. export writes every registered device, with its owner, and every instance's
    device; credentials stay out. The file is made under another name, mode 0600, and renamed when it is whole.

      {"com.example.app":{"<token>":{"createdAt":"2024-01-31T09:30:00.000Z","updatedAt":...,"username":...}}}

    Tokens that name no app stand under "", instances under "martlet:instances". import also reads arrays of such objects,
    and the notation of the push server's own document. It writes each record as it is; what Redis has stays when it is as
    new, or has an owner where the file names none, and a user keeps the newest MARTLET_MAX_DEVICES (100) devices. So it may be interrupted, and done again. An entry that cannot be right
    is counted by reason and left out; a file that is no backup ends the import where it stops being one (exit 1).

    migrate reads an export of Parse's _Installation (an array, {"results":[...]}, or an object per line) and takes the iOS
    devices of the apps named by --bundle. It writes a backup to stdout or to --output, or with --import into Redis.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, options: ["bundle", "output"], flags: ["import", "json"])
    guard line.positional.count == 2 else {
      throw CommandLineWords.Misuse(message: "expected export, import or migrate, and a file")
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
      default: throw CommandLineWords.Misuse(message: "expected export, import or migrate")
      }
    } catch let failure as BackupFailure {
      report.stopped(failure.done)
      throw CommandFailure(message: "\(file): \(failure.cause)")
    } catch let error as BackupError {
      throw CommandFailure(message: "\(error)")
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
      throw CommandLineWords.Misuse(message: "migrate needs --bundle ID, once for each app to take")
    }
    guard line.has("import") else {
      let output = line.value("output") ?? "-"
      let export = try await Migration.convert(file, to: output, bundleIDs: bundleIDs, onProgress: report.progress)
      return report.exported(export, isOnStandardOutput: output == "-")
    }
    guard line.value("output") == nil else {
      throw CommandLineWords.Misuse(message: "--import writes into Redis; --output does not go with it")
    }
    try await withRegistry { registry in
      let summary = try await registry.importInstallations(
        path: file, bundleIDs: bundleIDs, onProgress: report.progress)
      report.imported(summary)
    }
  }

  private static func withRegistry(_ body: @EventLoop (Registry) async throws -> Void) async throws {
    var maximumDevices = Registry.defaultMaximumDevices
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues) { reader in
      maximumDevices = SidecarSettings.readMaximumDevices(&reader)
    }
    try await configuration.withConnection { [maximumDevices] connection in
      try await body(Registry(connection: connection, maximumDevices: maximumDevices, log: .silent))
    }
  }

  private static func refuse(_ names: [String], _ line: CommandLineWords) throws(CommandLineWords.Misuse) {
    for name in names where line.has(name) || line.value(name) != nil {
      throw .init(message: "--\(name) goes with migrate only")
    }
  }
}
