import JSON

/// A route that APNs accepts pushes of, as a ``WorkerReport`` stores it.
public struct RouteUseReport: Sendable, Equatable {
  /// Entries of a report, at most.
  public static let maximumListed = 20

  public var environment: String
  public var topic: String
  /// Owners whose latest answer the removal guard remembers.
  public var owners: Int
  /// Those of them whose token was refused.
  public var suspects: Int

  public init(environment: String, topic: String, owners: Int, suspects: Int) {
    self.environment = environment
    self.topic = topic
    self.owners = owners
    self.suspects = suspects
  }

  /// Returns nil if `value` is not a route.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string, let topic = value["topic"]?.string else { return nil }
    self.init(
      environment: environment, topic: topic, owners: value["owners"].present ?? 0,
      suspects: value["suspects"].present ?? 0)
  }

  static func list(_ value: JSONValue?) -> [RouteUseReport] {
    (value?.array ?? []).prefix(maximumListed).compactMap(RouteUseReport.init)
  }

  var object: JSONObject { ["environment": environment, "topic": topic, "owners": owners, "suspects": suspects] }
}
