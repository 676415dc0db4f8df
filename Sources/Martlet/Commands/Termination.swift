import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// SIGTERM and SIGINT for the services.
@EventLoop
enum Termination {
  nonisolated static let signals = [SIGTERM, SIGINT]
  /// The number of signals that arrived before the service could be stopped.
  private static var early = 0
  private static var stopService: (@EventLoop () -> Void)?
  private static var hasReceived = false

  /// Whether a further signal is passed on too. A worker process of a supervisor may get one from its supervisor and one from a
  /// terminal or from systemd, which send to all processes: together they are one.
  static var countsFurther = true

  /// A signal that arrives while a service starts is kept until ``use(_:)``.
  static func receive() {
    guard countsFurther || !hasReceived else { return }
    hasReceived = true
    pass()
  }

  /// Asks the service to end at once, whatever it has received before.
  static func hurry() {
    receive()
    pass()
  }

  private static func pass() {
    if let stopService { stopService() } else { early += 1 }
  }

  /// Calls `stop` for each signal.
  static func use(_ stop: @escaping @EventLoop () -> Void) {
    stopService = stop
    for _ in 0..<early { stop() }
    early = 0
  }

  /// Calls `stop` for each signal and returns when `stop` has called its argument.
  static func wait(_ stop: @escaping @EventLoop (_ stopped: @escaping @EventLoop () -> Void) -> Void) async {
    await withCheckedContinuation { (stopped: CheckedContinuation<Void, Never>) in
      var waiting: CheckedContinuation<Void, Never>? = stopped
      use {
        stop {
          waiting?.resume()
          waiting = nil
        }
      }
    }
  }
}
