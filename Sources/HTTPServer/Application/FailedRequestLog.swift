package import EventLoop
package import Telemetry

/// Logs requests that failed because of a fault: the first of each route at once, later ones once a minute with their number.
/// Other refused requests are only counted.
@EventLoop
package final class FailedRequestLog {
  private let log: Log
  private let interval: Duration
  /// The last reason, by route.
  private var warnings: [String: ThrottledWarning<String>] = [:]

  package init(_ log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval
  }

  package func record(_ fault: HTTPFault, of route: String) {
    // What is known is logged once where it was found. A warning for each request would hide that line.
    if fault.isKnown {
      return log.debug("a request was not tried", ["route": .init(route), "reason": .init(fault.reason)])
    }
    let warning =
      warnings[route]
      ?? ThrottledWarning(interval: interval) { [log] requests, reason in
        // Operator: Redis refused it. See `reason`.
        log.warn("a request failed", ["route": .init(route), "requests": .init(requests), "reason": .init(reason)])
      }
    warnings[route] = warning
    warning.warn(fault.reason)
  }
}
