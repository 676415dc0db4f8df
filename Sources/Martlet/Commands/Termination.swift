import Dispatch
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// SIGTERM and SIGINT, as the services take them.
@EventLoop
enum Termination {
  private static var sources: [SignalSource] = []
  /// Signals that arrived before anything could be stopped.
  private static var early = 0
  private static var receive: (@EventLoop () -> Void)?

  /// Takes over the signals; from now on none ends the process by itself.
  ///
  /// Call it on the main thread before any other thread exists: a signal that arrives while a service starts is kept until
  /// ``awaited(_:)``. `dispatchMain` would otherwise let it end the process.
  nonisolated static func listen() {
    let signals = [SIGTERM, SIGINT]
    SignalSource.block(signals)
    EventLoop.queue.sync {
      EventLoop.assumeIsolated {
        sources = signals.map { number in
          SignalSource(number) { if let receive { receive() } else { early += 1 } }
        }
      }
    }
  }

  /// Calls `stop` for every signal, and returns when `stop` has called its argument.
  static func awaited(_ stop: @escaping @EventLoop (_ stopped: @escaping @EventLoop () -> Void) -> Void) async {
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
