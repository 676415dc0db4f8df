public import PushModel

/// A route that an operator should look at: it is paused, or its tokens are no longer removed.
public struct RouteNotice: Sendable, Equatable {
  /// Maximum length of a list of notices.
  public static let maximumListed = 20

  public let environment: PushEnvironment
  public let topic: String
  /// APNs' reason; `HTTP_<status>` for an answer without one.
  public let reason: String
  /// Unix milliseconds.
  public let since: Int64

  public init(environment: PushEnvironment, topic: String, reason: String, since: Int64) {
    self.environment = environment
    self.topic = topic
    self.reason = reason
    self.since = since
  }

  /// Returns the longest standing of `notices`, at most ``maximumListed``.
  static func listed(_ notices: [RouteNotice]) -> [RouteNotice] {
    Array(notices.sorted { ($0.since, $0.topic) < ($1.since, $1.topic) }.prefix(maximumListed))
  }

  /// What an operator should do about a route that is paused for `reason`.
  public static func fix(ofPauseFor reason: String) -> String {
    switch reason {
    case "TopicDisallowed":
      "check the bundle id (of the job, the device, APNS_BUNDLE_ID) and its app: the key's team may not send to this topic"
    case "ExpiredProviderToken": "check the clock of this machine: APNs calls a fresh provider token expired"
    case "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken":
      "check the key id, the team id and the private key (APNS_* or MARTLET_APPS) and this machine's clock; "
        + "see whether the key was revoked"
    case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadCertificateEnvironment":
      "use a key that is allowed in this environment, or set APNS_USE_SANDBOX"
    default: "check that the key may send to this topic in this environment, and check proxies between here and APNs"
    }
  }

  /// What an operator should do about a route whose tokens are no longer removed.
  public static let fixOfStoppedRemoval =
    "check the bundle id of the app and the environment of its tokens (APNS_USE_SANDBOX)"
}
