import APNs
import EventLoop
import JSON
import Operations
import Program
import PushModel
import Telemetry
import Usage
import Worker

/// `martlet gateway`: asks a gateway of APNs whether it does what is known of it.
enum GatewayCommand: Command {
  static let usage = CommandUsage(
    "martlet gateway", "ask the gateway of APNs whether it does what is known of it", [],
    [
      .init("environment", .choice("NAME", ["production", "sandbox"]), "the gateway; default: APNS_USE_SANDBOX"),
      .init("app", .text("BUNDLE_ID"), "the app whose key signs; default: APNS_BUNDLE_ID"),
      .init("token", .text("TOKEN"), "also send two pushes in the background to this device"),
      .init(
        "renew",
        "also use a second new provider token: for 20 minutes APNs may refuse the next one of the team"),
      .init("idle", "also wait for 30 minutes"),
      .init("json", "print JSON, one object a line"),
    ],
    text: """
      Asks the gateway some thirty questions, whose answers Apple documents or others have recorded, over one connection and
      with at most sixty requests. Prints each question, what is expected, what was seen, and who says so; as JSON
      {"id","question","expected","seen","verdict","certainty","source"}. Shows nothing on any phone.

      Without settings of APNs it asks what needs no key: SETTINGS, TLS, the order of checks, refusals. With a key it also
      sends pushes to a token that no device has, all of which are refused, with the provider token that the workers of the
      key have.

      Exit code 0 if every answer is as expected, 1 if one differs or the gateway cannot be reached.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let (target, scope) = try target(line, environment)
    let facts = scope.facts
    let isJSON = line.has("json")
    if !isJSON {
      let key = target.keyID.map { "with the key \($0)" } ?? "without a key"
      Console.print("Asks \(target.url) \(facts.count) questions over one connection, \(key).\n\n")
    }
    var differing = 0
    do {
      try GatewayQuestioning(target, scope).ask { answer in
        if answer.fact.verdict(on: answer.seen) == .differs { differing += 1 }
        Console.print(isJSON ? answer.object.line : answer.text)
      }
    } catch {
      throw CommandError.failed("\(target.url) cannot be asked: \(error)")
    }
    if !isJSON {
      Console.print("\n\(facts.count - differing) of \(facts.count) answers are as expected.\n")
      if differing > 0 { Console.print("What differs is news: docs/gateway.md says where to report it.\n") }
    }
    return differing == 0 ? .done : .failed
  }

  /// The gateway, and what may be asked there.
  private static func target(
    _ line: CommandLineWords, _ process: ProcessEnvironment
  ) throws -> (GatewayTarget, GatewayQuestioning.Scope) {
    let environment = line.value("environment").flatMap(PushEnvironment.init(rawValue:))
    var faults: [InvalidValue] = []
    let (worker, _, _) = AllConfiguration.read(process.values, &faults)
    // Whoever sets a part of a key means to ask with it. Other settings are not needed.
    let ofKeys = faults.filter { fault in
      ["APNS_", "MARTLET_APPS"].contains { (APNsSettings.name(of: fault.place) ?? fault.place).hasPrefix($0) }
    }
    guard ofKeys.isEmpty else { throw ConfigurationFaults(ofKeys) }
    let bundleID = line.value("app") ?? worker?.worker.bundleID
    let app = worker?.worker.apps.first { $0.bundleIDs.contains(bundleID ?? "") }
    let ofApp = app.flatMap { app in
      (environment.map { [$0] } ?? PushEnvironment.allCases).lazy
        .compactMap { app.configuration(of: bundleID ?? "", in: $0) }.first
    }
    var scope = GatewayQuestioning.Scope(bundleID: bundleID, token: line.value("token"))
    scope.renews = line.has("renew")
    scope.waits = line.has("idle")
    if let configuration = ofApp ?? worker?.worker.apns, bundleID != nil {
      return (GatewayTarget(configuration, environment ?? configuration.defaultEnvironment), scope)
    }
    guard line.value("app") == nil, scope.token == nil, !scope.renews else {
      throw CommandError.refused("set APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_KEY_PATH, or MARTLET_APPS")
    }
    scope.bundleID = nil
    var reader = EnvironmentReader(process.values)
    return (try GatewayTarget(APNsSettings.readGateway(&reader), environment ?? .production), scope)
  }
}

extension GatewayQuestioning.Answer {
  fileprivate var object: JSONObject {
    [
      "id": fact.id, "question": fact.question, "expected": fact.expected, "seen": seen,
      "verdict": fact.verdict(on: seen).rawValue, "certainty": fact.certainty.rawValue, "source": fact.source,
    ]
  }

  fileprivate var text: String {
    let isExpected = fact.verdict(on: seen) == .expected
    let rest = isExpected ? "" : "; expected \(fact.expected.joined(separator: " or "))"
    return "\(isExpected ? "ok     " : "DIFFERS") \(fact.question): \(TerminalText.line(seen))\(rest)"
      + " (\(fact.certainty.rawValue): \(fact.source))\n"
  }
}
