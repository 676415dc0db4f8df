import PushModel

/// What an answer asks for.
///
/// Source: Apple's "Handling notification responses from APNs". A reason counts only with the status that Apple
/// documents for it; any other answer is classified by its status.
public enum AnswerMeaning: Sendable, Equatable {
  case accepted
  /// The token is no longer valid. Remove the device only if it was not registered after `unregisteredSince` (unix
  /// milliseconds) and ``APNsClient/removalAllowed(for:after:)`` returns true.
  case staleToken(unregisteredSince: Int64?)
  /// Refused for this device. Sending again cannot help, but the token may be valid.
  case failed
  /// The job is invalid for every device: bury it.
  case badJob
  /// Try again later, and no sooner than `after` seconds.
  case retryLater(after: Int?)
  /// Too many pushes to this device: delay its pushes only, by `after` seconds at least.
  case deviceThrottled(after: Int?)
  /// The provider token is not accepted, or not for this environment and topic.
  case providerRefused
  /// Refused for this device, or for the provider: only what others are answered tells.
  case forbidden
  /// The provider may not send to this topic.
  case topicRefused
  /// The provider token was renewed too often; the previous one is still valid.
  case tooManyProviderTokens
  /// APNs asks for another connection; the push was not processed.
  case newConnection
  /// The request was malformed: a bug in this program.
  case ourBug

  init(status: Int, reason: String?, timestamp: Int64? = nil, retryAfter: Int? = nil) {
    switch (status, reason ?? "") {
    case (200..<300, _): self = .accepted
    case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): self = .staleToken(unregisteredSince: nil)
    case (410, "Unregistered"), (410, "ExpiredToken"): self = .staleToken(unregisteredSince: timestamp)
    case (400, "TopicDisallowed"): self = .topicRefused
    case (400, "IdleTimeout"), (503, "IdleTimeout"), (400, "Shutdown"), (503, "Shutdown"), (421, _):
      self = .newConnection
    case (403, "Forbidden"): self = .forbidden
    case (403, _): self = .providerRefused
    case (404, _), (405, _): self = .ourBug
    case (410, _): self = .failed
    case (429, "TooManyProviderTokenUpdates"): self = .tooManyProviderTokens
    case (429, _): self = .deviceThrottled(after: retryAfter)
    case (400..<500, let reason): self = PushReason.of(reason).isOfToken ? .failed : .badJob
    default: self = .retryLater(after: retryAfter)
    }
  }

  /// Whether a wrong environment or topic would explain the answer as well as an invalid token does.
  static func isSuspect(_ answer: APNsAnswer) -> Bool {
    answer.status == 400 && (answer.reason == "BadDeviceToken" || answer.reason == "DeviceTokenNotForTopic")
  }

  /// Whether APNs has accepted the provider token, so that the connection may carry more than one stream.
  var provesProviderToken: Bool {
    switch self {
    case .providerRefused, .forbidden, .newConnection, .tooManyProviderTokens: false
    default: true
    }
  }

  /// Whether APNs accepts pushes of this environment and topic, even if it refused this one.
  var provesRoute: Bool {
    switch self {
    case .accepted, .staleToken, .failed, .badJob, .deviceThrottled: true
    default: false
    }
  }

  /// Whether it speaks of the gateway, the provider or the topic, and not of a device: a connection that has nothing else to
  /// say may be at fault.
  var isOfConnection: Bool {
    switch self {
    case .retryLater, .providerRefused, .forbidden, .topicRefused, .tooManyProviderTokens, .newConnection, .ourBug: true
    case .accepted, .staleToken, .failed, .badJob, .deviceThrottled: false
    }
  }
}
