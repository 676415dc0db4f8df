import Events
import JSON
import PushModel

extension Event {
  /// A worker has paused a route. Others may still send to it. `fix` is what an operator should do.
  static func paused(_ route: RouteNotice, worker: String, fix: String, at now: Int64) -> Event {
    Event(.routePaused, at: now, data: object(route, worker) + ["fix": fix.unlessEmpty])
  }

  static func resumed(_ route: RouteNotice, worker: String, at now: Int64) -> Event {
    Event(.routeResumed, at: now, data: object(route, worker))
  }

  private static func object(_ route: RouteNotice, _ worker: String) -> JSONObject {
    [
      "topic": route.topic.unlessEmpty, "environment": route.environment.rawValue,
      "reason": route.reason.unlessEmpty, "worker": worker.unlessEmpty, "since": route.since,
    ]
  }
}
