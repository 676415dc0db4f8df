import Redis
import Telemetry

extension Log {
  /// Only what the operator can mend: refused requests are counted.
  func failure(_ refusal: Refusal, of request: SidecarRequest) {
    if let cause = refusal.cause { failure(cause, of: request) }
  }

  /// While there is no connection, the connection has said so once: a line for every request would bury it.
  func failure(_ cause: RedisError, of request: SidecarRequest) {
    if case .notSent(let reason) = cause {
      debug("a request was not tried", ["route": .init(request.route), "reason": .init(reason)])
    } else {
      warn("a request failed", ["route": .init(request.route), "reason": .init("\(cause)")])
    }
  }
}
