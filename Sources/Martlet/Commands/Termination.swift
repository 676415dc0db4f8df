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

  /// A signal that arrives while a service starts is kept until ``use(_:)``.
  static func receive() {
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
