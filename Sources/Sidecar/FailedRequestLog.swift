import EventLoop
import Redis
import Telemetry

/// Logs requests that failed because of Redis: the first of each route at once, later ones once a minute with their number.
/// Other refused requests are only counted.
@EventLoop
final class FailedRequestLog {
  private let log: Log
  private let interval: Duration
  private var timer: LoopTimer?
  /// By route, since its last line: the number of failed requests and the last reason.
  private var routes: [String: (requests: Int, reason: String)] = [:]

  init(_ log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval
  }

  /// Logs the refusal if a fault of Redis caused it.
  func record(_ refusal: Refusal, of request: SidecarRequest) {
    guard let cause = refusal.cause else { return }
    // The connection logs its loss once. A warning for each request would hide that line.
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

  /// Logs the requests that have failed since the last lines.
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
