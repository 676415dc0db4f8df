import PushModel
import EventLoop

/// The routes seen so far. Topics come from producers, so there is a limit.
@EventLoop
final class RouteTable {
  static let maximumRoutes = 10_000

  private struct Key: Hashable {
    let environment: PushEnvironment
    let topic: String
  }

  private var routes: [Key: Route] = [:]
  /// Most pushes take the route of the one before.
  private var latest: Route?

  func route(_ environment: PushEnvironment, _ topic: String) -> Route {
    if let latest, latest.environment == environment, latest.topic == topic { return latest }
    let key = Key(environment: environment, topic: topic)
    if let route = routes[key] {
      latest = route
      return route
    }
    if routes.count >= RouteTable.maximumRoutes {
      routes = routes.filter { $0.value.isPaused || $0.value.isRemovalStopped }
      if routes.count >= RouteTable.maximumRoutes { routes.removeAll() }
    }
    let route = Route(environment: environment, topic: topic)
    routes[key] = route
    latest = route
    return route
  }

  /// Nil when nothing was ever sent there.
  func known(_ environment: PushEnvironment, _ topic: String) -> Route? {
    routes[Key(environment: environment, topic: topic)]
  }

  var all: some Sequence<Route> { routes.values }
}
