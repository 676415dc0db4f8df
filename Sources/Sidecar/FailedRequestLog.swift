import EventLoop
import Redis
import Telemetry

/// Logs requests that Redis failed: of each route the first at once, what follows once a minute with its number. Refused
/// requests are counted, not logged.
@EventLoop
final class FailedRequestLog {
  private let log: Log
  private let interval: Duration
  private var timer: LoopTimer?
  /// Of the routes that were logged lately: what failed since, and the last reason.
  private var routes: [String: (requests: Int, reason: String)] = [:]

  init(_ log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval
  }

  func failed(_ request: SidecarRequest, _ refusal: Refusal) {
    if let cause = refusal.cause { failed(request, cause) }
  }

  /// While there is no connection, the connection has said so once: a line for every request would bury it.
  func failed(_ request: SidecarRequest, _ cause: RedisError) {
    if case .notSent(let reason) = cause {
      return log.debug("a request was not tried", ["route": .init(request.route), "reason": .init(reason)])
    }
    if let known = routes[request.route] {
      routes[request.route] = (known.requests + 1, "\(cause)")
    } else {
      routes[request.route] = (0, "")
      write(request.route, requests: 1, "\(cause)")
      if timer == nil { startTimer() }
    }
  }

  /// Logs what has failed since the last lines.
  func flush() {
    routes = routes.filter { $0.value.requests > 0 }
    for (route, since) in routes.sorted(by: { $0.key < $1.key }) {
      write(route, requests: since.requests, since.reason)
      routes[route] = (0, "")
    }
    timer = nil
    if !routes.isEmpty { startTimer() }
  }

  private func write(_ route: String, requests: Int, _ reason: String) {
    log.warn(
      "a request failed", ["route": .init(route), "requests": .init(requests), "reason": .init(reason)])
  }

  private func startTimer() {
    timer = .after(interval) { [weak self] in self?.flush() }
  }
}
