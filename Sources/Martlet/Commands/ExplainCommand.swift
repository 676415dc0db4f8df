import EventLoop
import Jobs
import JSON
import Operations
import Program
import PushModel
import Registry
import Telemetry
import Usage

/// `martlet explain`: says what happened to a job, or why an addressee gets nothing.
enum ExplainCommand: Command {
  static let usage = CommandUsage(
    "martlet explain", "say what happened to a job, or why an addressee gets nothing", [.anyID],
    [
      .init("user", .text("NAME"), "explain a user: which devices, and what prevents pushes to them"),
      .init("token", .text("TOKEN"), "explain a device"), .init("instance", .text("ID"), "explain an instance"),
    ]
      + subjects.map { CommandOption($0.option, .text("ID"), $0.help) } + [
        .queue, .json, .init("full-tokens", "do not shorten tokens"),
      ],
    only: [["user", "token", "instance"] + subjects.map(\.option)],
    text: """
      Says what happened to a job, step by step, what happens next, and what to do. Of a user, a token or an instance, says
      whether pushes reach it, and what prevents them: registrations, apps, paused routes, the last refusals of APNs, the
      limits of delivery policies.

      Looks at the queues of MARTLET_QUEUES. Times are local: TZ or MARTLET_TIME_ZONE. Limits are those of the policies that
      MARTLET_POLICY_FILE names here.

      Exit code 1 if nothing is known of what was asked.
      """)

  /// What to explain.
  private enum Subject: Sendable {
    case job(String)
    case addressee(InspectedAddressee)
    case part(ExplainedSubject, String)
  }

  /// Of parts.
  private static var subjects: [ExplainedSubject] { Parts.all.flatMap { $0.subjects } }

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let subject = try subject(line)
    var explainers: [any AddresseeExplainer] = []
    let configuration = try ClientConfiguration(environment) { reader in
      guard case .addressee = subject else { return }
      TimeZoneSetting.check(&reader)
      explainers = Parts.all.compactMap { $0.explainer(&reader) }
    }
    let queues = try configuration.queues(of: line)
    let isWhole = line.has("full-tokens")
    let answer: Answer = try await configuration.withConnection { connection in
      let fleet = FleetQueues(queues, connection: connection)
      let registry = Registry(connection: connection, log: .silent)
      switch subject {
      case .job(let id):
        let found = try await fleet.explain(try await fleet.locate(id))
        return (text.text(found), found.object, found.isKnown)
      case .addressee(let addressee):
        let facts = try await fleet.facts(of: addressee, in: registry, explainers, showsWholeTokens: isWhole)
        let found = facts.explanation
        return (text.text(found), found.object, found.isKnown)
      case .part(let subject, let id):
        let found = try await subject.explain(id, fleet, registry, isWhole)
        return (text.text(found.summary), found.object, found.isKnown)
      }
    }
    Console.print(line.has("json") ? answer.object.line : answer.text)
    return answer.isKnown ? .done : .failed
  }

  private typealias Answer = (text: String, object: JSONObject, isKnown: Bool)

  /// From now.
  private static var text: ExplanationText { ExplanationText(time: TimeText(now: Clock.unixMilliseconds)) }

  private static func subject(_ line: CommandLineWords) throws(CommandError) -> Subject {
    var subjects = line.arguments.map(Subject.job)
    if let user = line.value("user") { subjects.append(.addressee(.user(Username(user)))) }
    if let token = line.value("token") { subjects.append(.addressee(.token(token))) }
    if let instance = line.value("instance") { subjects.append(.addressee(.instance(instance))) }
    for part in ExplainCommand.subjects {
      if let id = line.value(part.option) { subjects.append(.part(part, id)) }
    }
    guard subjects.count == 1 else {
      let options = ["user", "token", "instance"] + ExplainCommand.subjects.map(\.option)
      let list = options.dropLast().map { "--\($0)" }.joined(separator: ", ")
      throw .usage("expected one job id, or one of \(list) and --\(options.last ?? "")")
    }
    return subjects[0]
  }
}
