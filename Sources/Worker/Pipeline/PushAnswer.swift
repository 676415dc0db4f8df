import APNs
import EventLoop
import PushModel
import Registry

/// An answer to the push of a job, or to a test push.
struct PushAnswer {
  let sent: SendOutcome
  let environment: PushEnvironment
  /// What it proves that the token is not known.
  let question: TokenQuestion
  /// Whether device and job allow that the answer says something about the token.
  let isOfToken: Bool
  /// Whether the route allows, too, that the token is removed because of the answer.
  let mayRemove: Bool

  init(
    _ sent: SendOutcome, in environment: PushEnvironment, question: TokenQuestion, isOfToken: Bool = true,
    mayRemove: Bool
  ) {
    self.sent = sent
    self.environment = environment
    self.question = question
    self.isOfToken = isOfToken
    self.mayRemove = mayRemove
  }

  /// `bundleID`: the app that `push` was sent to, through `client`; `defaultBundleID`: that of devices that were registered for none.
  @EventLoop
  init(
    _ sent: SendOutcome, to push: Push, _ device: Device, bundleID: String, defaultBundleID: String?,
    through client: APNsClient?, question: TokenQuestion
  ) {
    var (isOfToken, mayRemove) = (false, false)
    if case .answered(let answer) = sent, !answer.isAccepted, let client {
      isOfToken = device.isProven(
        by: answer, as: push.shared.message.pushType, app: bundleID, defaultBundleID: defaultBundleID)
      mayRemove = isOfToken && client.removalAllowed(for: push, after: answer)
    }
    self.init(
      sent, in: push.shared.environment, question: question, isOfToken: isOfToken, mayRemove: mayRemove)
  }
}

/// What becomes of a push after the answers of one environment or of both: a token belongs to one of them, and the other calls it
/// invalid. Decides for the pushes of jobs and for test pushes.
struct AnsweredPush: Equatable {
  let outcome: PushOutcome
  /// The answer that counts.
  let sent: SendOutcome
  /// Whether that is the first answer, although the other environment was asked, too: no key may ask there.
  let isOfFirst: Bool
  /// Whether no environment that can be asked knows the token, but the device may be of one that cannot: it is kept, and nothing
  /// is sent to it while the same can be asked.
  let isUnreachable: Bool
  private let environment: PushEnvironment

  init(_ answer: PushAnswer, of device: Device) {
    self.init(answer, answer.question, of: device, isOfFirst: false)
  }

  /// `first` calls the token invalid.
  init(first: PushAnswer, second: PushAnswer, of device: Device) {
    guard !second.sent.isRefusalOfKey else {
      let question = TokenQuestion(asked: first.question.asked, isLast: true)
      self.init(first, question, of: device, isOfFirst: true)
      return
    }
    let isBad = second.sent.isBadDeviceToken
    // Only a 410 is a proof by itself. Any other refusal says that the token may be valid there.
    let mayRemove = isBad ? first.mayRemove && second.mayRemove : second.sent.status == 410
    let answer = PushAnswer(
      second.sent, in: second.environment, question: second.question, isOfToken: second.isOfToken, mayRemove: mayRemove)
    self.init(answer, second.question, of: device, isOfFirst: false)
  }

  private init(_ answer: PushAnswer, _ question: TokenQuestion, of device: Device, isOfFirst: Bool) {
    let isBad = answer.sent.isBadDeviceToken
    let isProof = !isBad || question.isProof(for: device.possibleEnvironments)
    outcome = PushOutcome(answer.sent, removalAllowed: isProof && answer.mayRemove)
    // A key that APNs refuses may be allowed tomorrow, and nothing here would tell.
    isUnreachable = isBad && !isProof && question.isLast && !isOfFirst && answer.isOfToken
    (sent, environment) = (answer.sent, answer.environment)
    self.isOfFirst = isOfFirst
  }

  /// The environment that has accepted the push, if the device is not known to be of it.
  func learned(of device: Device) -> PushEnvironment? {
    outcome == .accepted && device.environment != environment ? environment : nil
  }
}

extension Device {
  /// By whom the mass-removal guard counts the device.
  var owner: PushOwner? { kind == nil ? .unregistered : username.map(PushOwner.user) }

  /// The environments that it may be of: the registered one, if there is one.
  var possibleEnvironments: EnvironmentSet { environment.map { EnvironmentSet($0) } ?? .both }

  /// What a refusal of a push to the device says about its token.
  func evidence(of pushType: PushType, app bundleID: String, _ question: TokenQuestion) -> TokenEvidence {
    TokenEvidence(
      ofEnvironment: question.isProof(for: possibleEnvironments), ofTopic: isOwnTopic(of: pushType, app: bundleID))
  }

  /// Whether a refusal says that the device is gone, or only that the job asked for the wrong thing.
  func isProven(
    by answer: APNsAnswer, as pushType: PushType, app: String, defaultBundleID: String?
  ) -> Bool {
    guard answer.status == 400, kind != nil else { return true }
    if answer.reason == "DeviceTokenNotForTopic" { return isOwnTopic(of: pushType, app: app) }
    // The keys of another app may serve another environment.
    return bundleID ?? defaultBundleID == app
  }

  /// Whether the topic is the one that the device was registered with, as far as that is known.
  fileprivate func isOwnTopic(of pushType: PushType, app bundleID: String) -> Bool {
    guard let kind else { return true }
    return self.bundleID == bundleID && pushType.isSent(to: kind)
  }
}

extension SendOutcome {
  /// Whether APNs does not know the token in the environment that it was asked in.
  var isBadDeviceToken: Bool {
    if case .answered(let answer) = self { answer.status == 400 && answer.reason == "BadDeviceToken" } else { false }
  }

  /// Whether the key may not send to the environment and topic.
  var isRefusalOfKey: Bool {
    switch self {
    case .answered(let answer): [400, 403].contains(answer.status) && PushReason.of(answer.reason ?? "").isOfKey
    case .notProcessed(let why):
      why.hasPrefix(SendOutcome.pausedRoute)
        && PushReason.of(String(why.dropFirst(SendOutcome.pausedRoute.count))).isOfKey
    case .uncertain: false
    }
  }

  /// What the client says of a push to a paused route, before the reason.
  private static let pausedRoute = "RoutePaused: "
}
