import APNs
import EventLoop
import Operations
import Program
import PushModel
import Telemetry

/// Asks APNs in each environment and for each bundle id which key it accepts. The push is to a token that no device has.
@EventLoop
struct KeyExamination {
  /// What is asked at most, all at the same time.
  private static let maximumAsked = 16
  private static let nobody = String(repeating: "0", count: 64)

  private struct Question {
    let bundleID: String
    let environment: PushEnvironment
    let configuration: APNsConfiguration
    /// Whether pushes go there by default: what is refused there is a fault, elsewhere a restriction of the key.
    let isNeeded: Bool
  }

  private let questions: [Question]

  /// `configuration` is that of `bundleID`, the default app; both are nil without one.
  init(apps: [APNsApp], configuration: APNsConfiguration?, bundleID: String?) {
    var configured = apps.flatMap { app in
      app.bundleIDs.flatMap { bundleID in
        PushEnvironment.allCases.map { (bundleID, $0, app.configuration(of: bundleID, in: $0)) }
      }
    }
    if let configuration, let bundleID, !apps.contains(where: { $0.bundleIDs.contains(bundleID) }) {
      configured += PushEnvironment.allCases.map { (bundleID, $0, configuration) }
    }
    questions = configured.compactMap { bundleID, environment, configuration in
      guard let configuration else { return nil }
      let isNeeded = configuration.defaultEnvironment == environment
      // One gateway for both has one answer.
      guard isNeeded || configuration.knowsEnvironments else { return nil }
      return Question(
        bundleID: bundleID, environment: environment, configuration: configuration, isNeeded: isNeeded)
    }
  }

  func findings() async -> [Finding] {
    let asked = questions.prefix(KeyExamination.maximumAsked).map { question in
      EventLoop.start { await KeyExamination.ask(question) }
    }
    var findings: [Finding] = []
    for answer in asked { findings.append(await answer.value) }
    if questions.count > KeyExamination.maximumAsked {
      findings.append(
        Finding(
          "key", .fact, "\(questions.count - KeyExamination.maximumAsked) more apps and environments were not asked"))
    }
    return findings
  }

  private static func ask(_ question: Question) async -> Finding {
    let client = APNsClient(configuration: question.configuration, metrics: Metrics(), log: .silent)
    defer { client.close() }
    let outcome = await withCheckedContinuation { continuation in
      client.send(
        Push(
          token: nobody, apnsID: "00000000-0000-0000-0000-000000000000",
          shared: SharedContent(
            message: Push.Message(
              payload: Array(#"{"aps":{}}"#.utf8), pushType: .background, priority: 5, expiration: 0),
            topic: question.bundleID, environment: question.environment), evidence: .none
        ) { continuation.resume(returning: $0) })
    }
    let refused = client.refusedKeys.filter { !$0.signs }.map(\.keyID)
    return finding(question, outcome, key: client.signingKeyID, refused: refused)
  }

  /// `refused` are the keys before `key` that APNs does not accept.
  private static func finding(
    _ question: Question, _ outcome: SendOutcome, key: String, refused: [String]
  ) -> Finding {
    let check = "key of \(question.bundleID), \(question.environment.rawValue)"
    let reason: String
    switch outcome {
    case .answered(let answer) where answer.isAccepted || PushReason.of(answer.reason ?? "").isOfToken:
      guard !refused.isEmpty else { return Finding(check, .ok, "\(key) may send") }
      return Finding(
        check, .warning, "\(key) may send; APNs refuses \(refused.joined(separator: ", "))",
        fix: "remove a revoked key from MARTLET_APPS, or say there which environment and topics it is for")
    case .answered(let answer): reason = answer.reason ?? "HTTP \(answer.status)"
    case .notProcessed(let why) where why.hasPrefix("RoutePaused"): reason = why
    case .notProcessed, .uncertain:
      return Finding(check, .fact, "not asked, because the gateway does not answer")
    }
    let name = String(reason.split(separator: " ").last ?? "")
    return Finding(
      check, question.isNeeded ? .problem : .fact, "\(key) may not send: \(reason)",
      fix: PushReason.sentence(PushReason.of(name).fix))
  }
}
