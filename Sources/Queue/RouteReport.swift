public import JSON

/// A route to APNs that a worker has trouble with, as a ``WorkerReport`` stores it.
///
/// It has the members of the notice that the APNs client gives to the worker. The queue has a separate type because
/// it does not know APNs. The worker converts the notice.
public struct RouteReport: Sendable, Equatable {
  /// Entries that are read of a list in a report, at most.
  static let maximumListed = 20

  public var environment: String
  public var topic: String
  /// The reason that APNs gave.
  public var reason: String
  /// Unix ms.
  public var since: Int64

  public init(environment: String, topic: String, reason: String, since: Int64) {
    self.environment = environment
    self.topic = topic
    self.reason = reason
    self.since = since
  }

  /// Returns nil if `value` is not a route.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string, let topic = value["topic"]?.string,
      let reason = value["reason"]?.string, let since = value["since"]?.time
    else { return nil }
    self.init(environment: environment, topic: topic, reason: reason, since: since)
  }

  package static func list(_ value: JSONValue?) -> [RouteReport] {
    (value?.array ?? []).prefix(maximumListed).compactMap(RouteReport.init)
  }

  public var object: JSONObject { ["environment": environment, "topic": topic, "reason": reason, "since": since] }
}
