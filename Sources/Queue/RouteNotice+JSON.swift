public import JSON
public import PushModel

/// The routes of a ``WorkerReport``.
extension RouteNotice {
  /// Returns nil if `value` is not a route.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      let topic = value["topic"]?.string, let reason = value["reason"]?.string, let since = value["since"]?.time
    else { return nil }
    self.init(environment: environment, topic: topic, reason: reason, since: since)
  }

  public var object: JSONObject {
    ["environment": environment.rawValue, "topic": topic, "reason": reason, "since": since]
  }
}

extension RouteState {
  /// Returns nil if `value` is not a route.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      let topic = value["topic"]?.string
    else { return nil }
    self.init(
      environment: environment, topic: topic, owners: value["owners"].present ?? 0,
      suspects: value["suspects"].present ?? 0)
  }

  var object: JSONObject {
    ["environment": environment.rawValue, "topic": topic, "owners": owners, "suspects": suspects]
  }
}
