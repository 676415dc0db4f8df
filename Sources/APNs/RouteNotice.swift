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
}
