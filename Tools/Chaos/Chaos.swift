import EventLoop
import Glibc

/// The exit codes beside 0 and 2.
private enum ChaosExit {
  static let violation: Int32 = 1
  /// Not 3, which the checks have for what could not be installed.
  static let unjudged: Int32 = 4
}

/// `martlet-chaos`: runs a fleet, injects the faults of a plan, and judges.
@main
enum Chaos {
  static func main() async {
    signal(SIGPIPE, SIG_IGN)
    // The end of this process ends its children; `exit` removes the directories.
    Signals.listen(to: [SIGINT, SIGTERM]) { signal in exit(128 + signal) }
    do {
      let arguments = try Arguments(parsing: Array(CommandLine.arguments.dropFirst()))
      if arguments.wantsHelp {
        write(Arguments.usage, to: STDOUT_FILENO)
        exit(0)
      }
      let seed = arguments.seed ?? .random(in: 1...999_999)
      let plan = Plan(
        seed: seed, faults: arguments.faults, workers: arguments.workers, layout: arguments.layout,
        kinds: arguments.kinds)
      if arguments.wantsPlan {
        for step in plan.steps { print("\(step) [\(step.kind)], after \(step.gap) jobs") }
        exit(0)
      }
      exit(await run(plan, arguments))
    } catch {
      complain("\(error)\n\n\(Arguments.usage)")
      exit(2)
    }
  }

  @EventLoop
  private static func run(_ plan: Plan, _ arguments: Arguments) async -> Int32 {
    say("seed \(plan.seed), \(plan.steps.count) faults, \(arguments.workers) workers")
    let run: Run
    do {
      run = try await Run(plan, arguments)
    } catch {
      complain("cannot start the fleet: \(error)\n")
      return ChaosExit.unjudged
    }
    let text: String
    var code = ChaosExit.violation
    do {
      let report = try await run.execute()
      say(report.table)
      guard !report.verdict.isGood else { return 0 }
      complain(report.violations)
      text = report.everything
    } catch let error as Unjudged {
      text = "seed \(plan.seed): the run cannot be judged: \(error)\n"
      code = ChaosExit.unjudged
      complain(text)
    } catch {
      text = "seed \(plan.seed): the run could not be finished: \(error)\n"
      complain(text)
    }
    await run.keepArtifacts(text)
    let cluster = plan.layout == .cluster ? " CLUSTER=1" : ""
    complain("again: make chaos SEED=\(plan.seed) FAULTS=\(plan.steps.count)\(cluster)\n")
    return code
  }

  static func say(_ line: String) {
    write("\(line)\n", to: STDOUT_FILENO)
  }

  private static func complain(_ text: String) {
    write("martlet-chaos: \(text)", to: STDERR_FILENO)
  }

  /// Writes without a buffer. An error cannot be reported.
  private static func write(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
  }
}
