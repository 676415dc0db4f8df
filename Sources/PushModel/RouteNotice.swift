/// A route to APNs that an operator should look at: it is paused, or its tokens are no longer removed.
public struct RouteNotice: Sendable, Equatable {
  /// Maximum length of a list of notices.
  public static let maximumListed = 20

  public let environment: PushEnvironment
  public let topic: String
  /// APNs' reason; `HTTP_<status>` for an answer without one.
  public let reason: String
  /// Unix milliseconds.
  public var since: Int64

  public init(environment: PushEnvironment, topic: String, reason: String, since: Int64) {
    self.environment = environment
    self.topic = topic
    self.reason = reason
    self.since = since
  }
}
