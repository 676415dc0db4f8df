import APNs
import PushModel
import Registry
import TestSupport
import Testing

@testable import Worker

/// Apple's answers of one environment after `400 BadDeviceToken` of the other.
struct EnvironmentLookTests {
  private static let first = SendOutcome.answered(APNsAnswer(status: 400, reason: "BadDeviceToken"))

  struct Row: Sendable, CustomStringConvertible {
    let second: SendOutcome
    let outcome: PushOutcome
    /// The outcome if the route of the first answer, or of the second, must not remove tokens.
    let guarded: (first: PushOutcome, second: PushOutcome)
    var isOfFirst = false

    var description: String { "\(second)" }

    init(_ second: SendOutcome, _ outcome: PushOutcome, isOfFirst: Bool = false) {
      self.init(second, outcome, guarded: (outcome, outcome), isOfFirst: isOfFirst)
    }

    init(
      _ second: SendOutcome, _ outcome: PushOutcome, guarded: (first: PushOutcome, second: PushOutcome),
      isOfFirst: Bool = false
    ) {
      (self.second, self.outcome, self.guarded, self.isOfFirst) = (second, outcome, guarded, isOfFirst)
    }

    init(_ status: Int, _ reason: String, _ outcome: PushOutcome, since: Int64? = nil) {
      self.init(.answered(APNsAnswer(status: status, reason: reason, timestamp: since)), outcome)
    }
  }

  private static let fault = PushOutcome.open(after: PushOutcome.faultDelay, isFault: true)
  private static let stale = PushOutcome.stale(unregisteredSince: nil)

  private static let rows: [Row] =
    [
      Row(.answered(APNsAnswer(status: 200)), .accepted),
      Row(
        .answered(APNsAnswer(status: 400, reason: "BadDeviceToken")), stale, guarded: (.failed, .failed)),
      Row(400, "DeviceTokenNotForTopic", .failed), Row(400, "PayloadEmpty", .badJob),
      Row(410, "Unregistered", .stale(unregisteredSince: 7), since: 7),
      Row(410, "ExpiredToken", .stale(unregisteredSince: 7), since: 7), Row(410, "X", .failed, since: 7),
      Row(403, "InvalidProviderToken", fault), Row(403, "ExpiredProviderToken", fault),
      Row(429, "TooManyRequests", .open(after: .zero, isFault: false)),
      Row(503, "ServiceUnavailable", .open(after: .zero, isFault: false)), Row(503, "Shutdown", fault),
      Row(.notProcessed("NoConnection: refused"), fault),
      Row(.notProcessed("RoutePaused: InvalidProviderToken"), fault), Row(.uncertain("Timeout"), .uncertain),
    ]
    + [(403, "BadEnvironmentKeyIdInToken"), (403, "BadEnvironmentKeyInToken"), (400, "TopicDisallowed")].flatMap {
      (status: Int, reason: String) in
      [.answered(APNsAnswer(status: status, reason: reason)), .notProcessed("RoutePaused: \(reason)")].map {
        Row($0, .failed, isOfFirst: true)
      }
    }

  /// The answer of one environment, asked first or last.
  private func answer(
    _ sent: SendOutcome, in environment: PushEnvironment = .production, asked: EnvironmentSet? = nil,
    isLast: Bool = true, isOfToken: Bool = true, mayRemove: Bool = true
  ) -> PushAnswer {
    PushAnswer(
      sent, in: environment,
      question: TokenQuestion(asked: asked ?? EnvironmentSet(environment), isLast: isLast), isOfToken: isOfToken,
      mayRemove: mayRemove)
  }

  @Test(arguments: rows) func `the second answer decides, unless no key may ask`(row: Row) {
    func look(_ first: Bool, _ second: Bool) -> AnsweredPush {
      AnsweredPush(
        first: answer(Self.first, isLast: false, mayRemove: first),
        second: answer(row.second, in: .sandbox, asked: .both, mayRemove: second), of: Device(token: "t"))
    }
    #expect(look(true, true).outcome == row.outcome)
    #expect(look(false, true).outcome == row.guarded.first)
    #expect(look(true, false).outcome == row.guarded.second)
    #expect(look(true, true).isOfFirst == row.isOfFirst)
    #expect(!look(true, true).isUnreachable, "a key that is refused may be repaired")
    #expect(look(true, true).sent == (row.isOfFirst ? Self.first : row.second))
  }

  @Test func `a token is invalid if every environment that it may be of has been asked, else it is unreachable here`() {
    for environment in [nil] + PushEnvironment.allCases {
      let device = Device(token: "t", environment: environment)
      func judged(_ answer: PushAnswer) -> (outcome: PushOutcome, isUnreachable: Bool) {
        let push = AnsweredPush(answer, of: device)
        return (push.outcome, push.isUnreachable)
      }
      for asked in [EnvironmentSet.production, .sandbox, .both] {
        let isProof = asked == .both || environment.map { EnvironmentSet($0) == asked } ?? false
        let last = answer(Self.first, asked: asked)
        #expect(judged(last) == (isProof ? Self.stale : .failed, !isProof))
        let guarded = answer(Self.first, asked: asked, mayRemove: false)
        #expect(judged(guarded) == (.failed, !isProof), "the guard counts what proves, and a note removes nothing")
        #expect(judged(answer(Self.first, asked: asked, isLast: false)) == (.failed, false))
        #expect(judged(answer(Self.first, asked: asked, isOfToken: false, mayRemove: false)) == (.failed, false))
        for isLast in [true, false] {
          let evidence = device.evidence(of: .alert, app: "com.a", TokenQuestion(asked: asked, isLast: isLast))
          #expect(evidence.ofEnvironment == (isLast && isProof), "the guard counts only proofs")
        }
      }
    }
  }

  @Test func `the second question is about both environments`() {
    let first = TokenQuestion(asked: .production, isLast: false, generation: 3)
    let second = first.followed(by: TokenQuestion(asked: .sandbox, isLast: false, generation: 4))
    #expect(second == TokenQuestion(asked: .both, isLast: true, generation: 3))
  }

  @Test func `a registered environment is proof enough when no key may ask the other`() {
    let refusal = SendOutcome.answered(APNsAnswer(status: 403, reason: "BadEnvironmentKeyInToken"))
    let push = AnsweredPush(
      first: answer(Self.first, isLast: false), second: answer(refusal, in: .sandbox, asked: .both),
      of: Device(token: "t", environment: .production))
    #expect(push.outcome == Self.stale && push.isOfFirst && !push.isUnreachable)
  }

  @Test func `the environment that accepts a push is learned unless it is known`() {
    let accepted = answer(.answered(APNsAnswer(status: 200)), in: .sandbox, mayRemove: false)
    let first = answer(Self.first)
    let device = Device(token: "t")
    func learned(_ push: AnsweredPush, _ known: PushEnvironment?) -> PushEnvironment? {
      push.learned(of: Device(token: "t", environment: known))
    }
    #expect(learned(AnsweredPush(accepted, of: device), nil) == .sandbox)
    #expect(learned(AnsweredPush(accepted, of: device), .sandbox) == nil)
    #expect(learned(AnsweredPush(first: first, second: accepted, of: device), .production) == .sandbox)
    #expect(learned(AnsweredPush(first, of: device), nil) == nil)
  }

  // MARK: - What a refusal proves

  private func proves(
    _ reason: String, status: Int = 400, kind: DeviceKind? = .app, own: String? = "com.a", sentTo app: String = "com.a",
    as type: PushType = .alert
  ) -> Bool {
    Device(token: "t", bundleID: own, kind: kind).isProven(
      by: APNsAnswer(status: status, reason: reason), as: type, app: app, defaultBundleID: "com.d")
  }

  @Test func `a wrong topic proves something only if it is the device's own`() {
    #expect(proves("DeviceTokenNotForTopic"))
    #expect(proves("DeviceTokenNotForTopic", as: .background))
    #expect(proves("DeviceTokenNotForTopic", kind: .voip, as: .voip))
    #expect(!proves("DeviceTokenNotForTopic", sentTo: "com.b"))
    #expect(!proves("DeviceTokenNotForTopic", as: .voip))
    #expect(!proves("DeviceTokenNotForTopic", own: nil, sentTo: "com.d"), "its app is only assumed")
  }

  @Test func `an invalid token proves nothing if the job names another app, whose keys may be of one environment`() {
    #expect(proves("BadDeviceToken"))
    #expect(proves("BadDeviceToken", own: nil, sentTo: "com.d"))
    #expect(!proves("BadDeviceToken", sentTo: "com.b"))
    #expect(!proves("BadDeviceToken", own: nil, sentTo: "com.b"))
    #expect(proves("BadDeviceToken", kind: nil, own: nil, sentTo: "com.b"), "nothing is registered")
  }

  @Test func `a 410 needs no other proof`() {
    #expect(proves("Unregistered", status: 410, sentTo: "com.b"))
  }
}
