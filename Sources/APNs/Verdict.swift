/// What an answer asks for. The table is Apple's list of reasons.
public enum Verdict: Sendable, Equatable {
  case accepted
  /// The token is of no use any more. Remove it only if it was not registered after `unregisteredSince` (unix
  /// milliseconds), and only if ``APNsClient/removalAllowed(for:after:)`` agrees.
  case staleToken(unregisteredSince: Int64?)
  /// No resend can help: dead-letter the job.
  case badJob
  /// Try again later, at the earliest after this many seconds when given.
  case retryLater(after: Int?)
  /// Too many pushes to this one device: delay that device, no other.
  case deviceThrottled(after: Int?)
  /// The configuration of this environment and topic is wrong; the token may be fine.
  case parkRoute
  case expiredProviderToken
  case invalidProviderToken
  /// The key was renewed too often; the older token is still good.
  case tooManyProviderTokens
  /// APNs wants another connection; the push was not processed.
  case newConnection
  /// The request itself was wrong: a fault of this program.
  case ourBug

  public init(_ answer: APNsAnswer) {
    let after = answer.retryAfterSeconds
    guard let reason = answer.reason else {
      self = Verdict(status: answer.status, timestamp: answer.timestamp, retryAfterSeconds: after)
      return
    }
    switch reason {
    case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic", "DuplicateHeaders",
      "InvalidPushType", "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "PayloadTooLarge":
      self = .badJob
    case "BadDeviceToken", "DeviceTokenNotForTopic":
      self = .staleToken(unregisteredSince: nil)
    case "Unregistered", "ExpiredToken":
      self = .staleToken(unregisteredSince: answer.timestamp)
    case "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment", "Forbidden", "BadEnvironmentKeyIdInToken",
      "BadEnvironmentKeyInToken":
      self = .parkRoute
    case "IdleTimeout", "Shutdown", "UnrelatedKeyIdInToken":
      self = .newConnection
    case "ExpiredProviderToken":
      self = .expiredProviderToken
    case "InvalidProviderToken", "MissingProviderToken":
      self = .invalidProviderToken
    case "TooManyProviderTokenUpdates":
      self = .tooManyProviderTokens
    case "TooManyRequests":
      self = .deviceThrottled(after: after)
    case "BadPath", "MethodNotAllowed":
      self = .ourBug
    case "InternalServerError", "ServiceUnavailable":
      self = .retryLater(after: after)
    default:
      self = Verdict(status: answer.status, timestamp: answer.timestamp, retryAfterSeconds: after)
    }
  }

  /// For reasons that Apple has not documented.
  private init(status: Int, timestamp: Int64?, retryAfterSeconds: Int?) {
    switch status {
    case 200: self = .accepted
    case 403: self = .parkRoute
    case 404, 405: self = .ourBug
    case 410: self = .staleToken(unregisteredSince: timestamp)
    case 429: self = .deviceThrottled(after: retryAfterSeconds)
    case 400..<500: self = .badJob
    default: self = .retryLater(after: retryAfterSeconds)
    }
  }

  /// The token may only look bad because the environment or topic is wrong: subject to the mass-removal guard.
  static func isSuspect(_ answer: APNsAnswer) -> Bool {
    answer.reason == "BadDeviceToken" || answer.reason == "DeviceTokenNotForTopic"
  }

  /// Proves that APNs accepted the provider token: a connection may then carry more than one stream.
  var provesProviderToken: Bool {
    switch self {
    case .expiredProviderToken, .invalidProviderToken, .newConnection, .tooManyProviderTokens: false
    default: true
    }
  }
}
