package import EventLoop
package import Telemetry

/// Logs requests that failed because of a fault: the first of each route at once, later ones once a minute with their number.
/// Other refused requests are only counted.
@EventLoop
package final class FailedRequestLog {
  private let log: Log
  private let interval: Duration
  private var timer: LoopTimer?
  /// By route, since its last line: the number of failed requests and the last reason.
  private var routes: [String: (requests: Int, reason: String)] = [:]

  package init(_ log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval
  }

  package func record(_ fault: HTTPFault, of route: String) {
    // What is known is logged once where it was found. A warning for each request would hide that line.
    if fault.isKnown {
      return log.debug("a request was not tried", ["route": .init(route), "reason": .init(fault.reason)])
    }
    if let known = routes[route] {
      routes[route] = (known.requests + 1, fault.reason)
    } else {
      routes[route] = (0, "")
      write(route, requests: 1, fault.reason)
      if timer == nil { startTimer() }
    }
  }

  /// Logs the requests that have failed since the last lines.
  package func flush() {
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
