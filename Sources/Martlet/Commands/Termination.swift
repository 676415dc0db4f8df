import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// SIGTERM and SIGINT, as the services take them.
enum Termination {
  static let signals = [SIGTERM, SIGINT]

  /// Calls `stop` at every one of them, and returns when that has called its argument.
  @EventLoop
  static func awaited(_ stop: @escaping @EventLoop (_ stopped: @escaping @EventLoop () -> Void) -> Void) async {
    var sources: [SignalSource] = []
    await withCheckedContinuation { (stopped: CheckedContinuation<Void, Never>) in
      var waiting: CheckedContinuation<Void, Never>? = stopped
      sources = signals.map { number in
        SignalSource(number) {
          stop {
            waiting?.resume()
            waiting = nil
          }
        }
      }
    }
    withExtendedLifetime(sources) {}
  }
}
