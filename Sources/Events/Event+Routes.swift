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

  fileprivate var object: JSONObject {
    [
      "topic": topic.unlessEmpty, "environment": environment.unlessEmpty, "reason": reason.unlessEmpty,
      "worker": worker.unlessEmpty, "since": since,
    ]
  }
}

extension Event {
  /// `fix` is what an operator should do.
  public static func paused(_ route: EventRoute, fix: String, at now: Int64) -> Event {
    Event(.routePaused, at: now, data: route.object + ["fix": fix.unlessEmpty])
  }

  public static func resumed(_ route: EventRoute, at now: Int64) -> Event {
    Event(.routeResumed, at: now, data: route.object)
  }
}
