/// What an answer asks for. The table is Apple's list of reasons; a reason counts only with the status that Apple documents
/// for it, anything else is judged by its status.
public enum AnswerMeaning: Sendable, Equatable {
  case accepted
  /// The token is of no use any more. Remove it only if it was not registered after `unregisteredSince` (unix
  /// milliseconds), and only if ``APNsClient/removalAllowed(for:after:)`` agrees.
  case staleToken(unregisteredSince: Int64?)
  /// Refused for this device; no resend can help, and nothing says that the token is dead.
  case failed
  /// No resend can help: dead-letter the job.
  case badJob
  /// Try again later, at the earliest after this many seconds when given.
  case retryLater(after: Int?)
  /// Too many pushes to this one device: delay that device, no other.
  case deviceThrottled(after: Int?)
  /// The provider may not send to this environment and topic, or its token is not good: 403.
  case providerRefused
  /// The provider may not send to this topic.
  case topicRefused
  /// The key was renewed too often; the older token is still good.
  case tooManyProviderTokens
  /// APNs wants another connection; the push was not processed.
  case newConnection
  /// The request itself was wrong: a fault of this program.
  case ourBug

  public init(_ answer: APNsAnswer) {
    let after = answer.retryAfterSeconds
    switch (answer.status, answer.reason ?? "") {
    case (200, _): self = .accepted
    case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): self = .staleToken(unregisteredSince: nil)
    case (410, "Unregistered"), (410, "ExpiredToken"): self = .staleToken(unregisteredSince: answer.timestamp)
    case (400, "TopicDisallowed"): self = .topicRefused
    case (400, "IdleTimeout"), (503, "IdleTimeout"), (400, "Shutdown"), (503, "Shutdown"): self = .newConnection
    case (403, _): self = .providerRefused
    case (404, _), (405, _): self = .ourBug
    case (410, _): self = .failed
    case (429, "TooManyProviderTokenUpdates"): self = .tooManyProviderTokens
    case (429, _): self = .deviceThrottled(after: after)
    case (400..<500, let reason): self = AnswerMeaning.tokenReasons.contains(reason) ? .failed : .badJob
    default: self = .retryLater(after: after)
    }
  }

  /// They speak of one device, so a job to several does not end with them.
  private static let tokenReasons = ["BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"]

  /// The token may only look bad because the environment or topic is wrong: subject to the mass-removal guard.
  static func isSuspect(_ answer: APNsAnswer) -> Bool {
    answer.status == 400 && (answer.reason == "BadDeviceToken" || answer.reason == "DeviceTokenNotForTopic")
  }

  /// Proves that APNs accepted the provider token: a connection may then carry more than one stream.
  var provesProviderToken: Bool {
    switch self {
    case .providerRefused, .newConnection, .tooManyProviderTokens: false
    default: true
    }
  }

  /// APNs goes on taking pushes of this environment and topic, whatever it said of this one.
  var provesRoute: Bool {
    switch self {
    case .accepted, .staleToken, .failed, .badJob, .deviceThrottled: true
    default: false
    }
  }
}
