import Dispatch
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// SIGTERM and SIGINT for the services.
@EventLoop
enum Termination {
  private static var sources: [SignalSource] = []
  /// The number of signals that arrived before the service could be stopped.
  private static var early = 0
  private static var receive: (@EventLoop () -> Void)?

  nonisolated static let signals = [SIGTERM, SIGINT]

  /// Keeps a signal that arrives while a service starts until ``wait(_:)``. The signals must be blocked already.
  nonisolated static func listen() {
    EventLoop.queue.sync {
      EventLoop.assumeIsolated {
        sources = signals.map { number in
          SignalSource(number) { if let receive { receive() } else { early += 1 } }
        }
      }
    }
  }

  /// Calls `stop` for each signal and returns when `stop` has called its argument.
  static func wait(_ stop: @escaping @EventLoop (_ stopped: @escaping @EventLoop () -> Void) -> Void) async {
    await withCheckedContinuation { (stopped: CheckedContinuation<Void, Never>) in
      var waiting: CheckedContinuation<Void, Never>? = stopped
      let receive: @EventLoop () -> Void = {
        stop {
          waiting?.resume()
          waiting = nil
        }
      }
      Termination.receive = receive
      for _ in 0..<early { receive() }
      early = 0
    }
  }
}
