import JSON

/// A route to APNs, as events describe it.
public struct EventRoute: Sendable, Equatable {
  public var topic: String
  public var environment: String
  /// APNs' reason for the pause.
  public var reason: String
  /// Unix milliseconds.
  public var since: Int64
  /// The worker that has paused it. Others may still send to it.
  public var worker: String

  public init(topic: String, environment: String, reason: String, since: Int64, worker: String) {
    self.topic = topic
    self.environment = environment
    self.reason = reason
    self.since = since
    self.worker = worker
  }

  fileprivate var members: [JSONMember] {
    var members: [JSONMember] = []
    members.add("topic", topic)
    members.add("environment", environment)
    members.add("reason", reason)
    members.add("worker", worker)
    members.add("since", since)
    return members
  }
}

extension Event {
  /// `fix` is what an operator should do.
  public static func paused(_ route: EventRoute, fix: String, at now: Int64) -> Event {
    var data = route.members
    data.add("fix", fix)
    return Event(.routePaused, at: now, data: data)
  }

  public static func resumed(_ route: EventRoute, at now: Int64) -> Event {
    Event(.routeResumed, at: now, data: route.members)
  }
}
