import Dispatch
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// The program `martlet`: one binary, subcommands.
@main
enum Martlet {
  static let commands: [any Command.Type] = [
    WorkerCommand.self, EnqueueCommand.self, StatusCommand.self, ResultCommand.self, DeadCommand.self,
  ]

  static func main() {
    // Before any other thread exists; the worker listens to them, every other command lets them end it.
    let words = Array(CommandLine.arguments.dropFirst())
    if words.first == WorkerCommand.name { SignalSource.block([SIGTERM, SIGINT]) }
    PolicySettings.adoptTimeZone(EnvironmentReader.processValues)
    signal(SIGPIPE, SIG_IGN)
    Task { @EventLoop in
      Glibc.exit(await run(words).rawValue)
    }
    dispatchMain()
  }

  private static func run(_ words: [String]) async -> ExitCode {
    guard let name = words.first, name != "--help", name != "help" else {
      Console.print(help)
      return words.isEmpty ? .wrongUsage : .done
    }
    if name == "--version" {
      Console.print("martlet \(Version.current)\n")
      return .done
    }
    guard let command = commands.first(where: { $0.name == name }) else {
      Console.complain("martlet: unknown command '\(name)'\n\n\(help)")
      return .wrongUsage
    }
    if words.contains("--help") {
      Console.print(command.help)
      return .done
    }
    do {
      return try await command.run(Array(words.dropFirst()))
    } catch let misuse as CommandLineWords.Misuse {
      Console.complain("martlet \(name): \(misuse.message)\nSee martlet \(name) --help\n")
      return .wrongUsage
    } catch let faults as ConfigurationFaults {
      Console.complain(faults.text)
      return .wrongUsage
    } catch let failure as CommandFailure {
      Console.complain("martlet \(name): \(failure.message)\n")
      return .failed
    } catch {
      Console.complain("martlet \(name): \(error)\n")
      return .failed
    }
  }

  private static var help: String {
    let list = commands.map { command in
      "  " + command.name + String(repeating: " ", count: 10 - command.name.count) + command.summary + "\n"
    }.joined()
    return """
      martlet delivers push notifications: jobs from Redis lists to Apple's push service.

      usage: martlet COMMAND [--help]

      \(list)
      Settings come from the environment; the README lists them.

      """
  }
}

enum Version {
  static let current = "1.0.0"
}
