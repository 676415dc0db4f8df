import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// SIGTERM and SIGINT for the services.
@EventLoop
enum Termination {
  nonisolated static let signals = [SIGTERM, SIGINT]
  /// The number of signals that arrived before the services could be stopped.
  private static var early = 0
  private static var stop: (@EventLoop () -> Void)?

  /// A signal that arrives while the services start is kept until ``use(_:)``.
  static func receive() {
    if let stop { stop() } else { early += 1 }
  }

  /// Calls `stop` for each signal.
  static func use(_ stop: @escaping @EventLoop () -> Void) {
    self.stop = stop
    for _ in 0..<early { stop() }
    early = 0
  }
}
