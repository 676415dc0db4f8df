import Dispatch
import EventLoop
import JSON
import Program
import Telemetry
import Usage

#if canImport(Glibc)
  import Glibc
#endif

/// The program `martlet`, which runs one of its commands.
@main
enum Martlet {
  static let commands: [any Command.Type] =
    [
      WorkerCommand.self, SidecarCommand.self, DashboardCommand.self, AllCommand.self, EnqueueCommand.self,
      StatusCommand.self, ResultCommand.self, ExplainCommand.self, CancelCommand.self, QueueCommand.self,
      BroadcastCommand.self,
    ] + Parts.all.flatMap { $0.commands } + [
      DeadCommand.self, TokensCommand.self, CredentialsCommand.self, DoctorCommand.self, GatewayCommand.self,
      HealthCommand.self, CompletionCommand.self,
    ]

  static var completion: Completion { Completion(of: "martlet", commands.map { $0.usage }) }

  static func main() {
    Console.holdStandardDescriptors()
    // Only services handle signals; other commands end by them.
    let words = Array(CommandLine.arguments.dropFirst())
    let services = [WorkerCommand.name, SidecarCommand.name, DashboardCommand.name, AllCommand.name]
    if let name = words.first, services.contains(name) {
      Signals.listen(to: ServiceSignal.numbers) { ServiceSignal.receive($0) }
    }
    for part in Parts.all { part.prepare() }
    TimeZoneSetting.adopt(ProcessEnvironment.processValues)
    signal(SIGPIPE, SIG_IGN)
    EventLoop.start {
      let code = await run(words).rawValue
      fflush(nil)
      Log.flush()
      // `exit` would free data of OpenSSL that a connecting thread still uses.
      _exit(code)
    }
    dispatchMain()
  }

  private static func run(_ words: [String]) async -> ExitCode {
    guard let name = words.first, name != "--help", name != "help" else {
      Console.print(help)
      return words.isEmpty ? .wrongUsage : .done
    }
    if name == "--version" {
      Console.print(words.contains("--json") ? VersionReport.object.line : "martlet \(Version.current)\n")
      return .done
    }
    guard let command = commands.first(where: { $0.name == name }) else {
      let hint = Spelling.hint(for: name, among: commands.map { $0.name })
      Console.complain("martlet: unknown command '\(TerminalText.line(name))'\(hint)\n\n\(help)")
      return .wrongUsage
    }
    if words.contains("--help") {
      Console.print(command.usage.help)
      return .done
    }
    let environment = ProcessEnvironment(ProcessEnvironment.processValues, settingsOfParts: Parts.settings)
    do {
      return try await command.run(Array(words.dropFirst()), environment)
    } catch let faults as ConfigurationFaults {
      Console.complain(faults.text)
      return .wrongUsage
    } catch CommandError.usage(let message) {
      return end(name, message, .wrongUsage, hint: "See martlet \(name) --help\n")
    } catch CommandError.refused(let message) {
      return end(name, message, .wrongUsage)
    } catch CommandError.failed(let message) {
      return end(name, message, .failed)
    } catch {
      return end(name, "\(error)", .failed)
    }
  }

  private static func end(_ name: String, _ message: String, _ code: ExitCode, hint: String = "") -> ExitCode {
    Console.complain("martlet \(name): \(TerminalText.line(message))\n\(hint)")
    return code
  }

  private static var help: String {
    let nameWidth = (commands.map { $0.name.count }.max() ?? 0) + 2
    let list = commands.map { command in
      "  " + command.name + String(repeating: " ", count: nameWidth - command.name.count) + command.usage.summary + "\n"
    }.joined()
    return """
      martlet delivers push notifications: jobs from Redis lists to Apple's push service.

      usage: martlet COMMAND [--help]

      \(list)
      Settings come from the environment; docs/settings.md lists them.

      """
  }
}
