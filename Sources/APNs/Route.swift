import EventLoop

/// One environment and topic: what is refused for its configuration is refused for all of its pushes.
@EventLoop
final class Route {
  let environment: APNsEnvironment
  let topic: String
  var removalGuard = RemovalGuard()
  private(set) var parkReason = ""
  /// On CLOCK_MONOTONIC, nanoseconds; 0 when not parked.
  private var parkedUntil: UInt64 = 0

  init(environment: APNsEnvironment, topic: String) {
    self.environment = environment
    self.topic = topic
  }

  func park(until: UInt64, reason: String) {
    parkedUntil = until
    parkReason = reason
  }

  var isEverParked: Bool { parkedUntil != 0 }

  /// Nanoseconds left; nil when pushes may go.
  func parkedNanoseconds(now: UInt64) -> UInt64? {
    now < parkedUntil ? parkedUntil - now : nil
  }
}
