import EventLoop
import Jobs
import JSON
import Operations
import Program
import Registry
import Telemetry

/// `martlet explain`: says what happened to a job, or why an addressee gets nothing.
enum ExplainCommand: Command {
  static let name = "explain"
  static let summary = "say what happened to a job or a Live Activity, or why somebody gets nothing"
  static let help = """
    usage: martlet explain ID            [--queue LIST] [--json]
           martlet explain --user NAME   [--queue LIST] [--json] [--full-tokens]
           martlet explain --token TOKEN [--queue LIST] [--json] [--full-tokens]
           martlet explain --instance ID [--queue LIST] [--json] [--full-tokens]
           martlet explain --activity ID [--queue LIST] [--json] [--full-tokens]

    Says what happened to a job, step by step, what happens next, and what to do. With --user, --token or --instance, says
    whether pushes reach the addressee, and what prevents it: registrations, apps, paused routes, the last refusals of APNs,
    the limits of delivery policies. With --activity, says what a Live Activity shows, which devices have an update token of
    it, and what waits for one.

    Looks at the queues of MARTLET_QUEUES (or of --queue). Times are local: TZ or MARTLET_TIME_ZONE. Tokens are shortened
    unless --full-tokens is given. Limits are those of the policies that MARTLET_POLICY_FILE names here.

    Exit code 1 if nothing is known of the job, the addressee or the activity.

    """

  /// What to explain.
  private enum Subject: Sendable {
    case job(String)
    case addressee(InspectedAddressee)
    case part(ExplainedSubject, String)
  }

  /// Of parts.
  private static var subjects: [ExplainedSubject] { Parts.all.flatMap { $0.subjects } }

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(
      words, options: Set(["user", "token", "instance", "queue"] + subjects.map(\.option)),
      flags: ["json", "full-tokens"])
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
    var subjects = line.positional.map(Subject.job)
    if let user = line.value("user") { subjects.append(.addressee(.user(user))) }
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
