import EventLoop
import Program

#if canImport(Glibc)
  import Glibc
#endif

/// A signal for the services.
@EventLoop
final class ServiceSignal {
  /// Stops the services.
  static let termination = ServiceSignal()
  /// Files are read again. It never ends a service.
  static let reload = ServiceSignal()

  nonisolated static let numbers = [SIGTERM, SIGINT, SIGHUP]

  /// The number of signals that arrived before the services had started.
  private var early = 0
  private var action: (@EventLoop () -> Void)?

  /// A signal that arrives while the services start is kept until ``use(_:)``.
  static func receive(_ number: Int32) { (number == SIGHUP ? reload : termination).receive() }

  func receive() {
    if let action { action() } else { early += 1 }
  }

  /// Calls `action` for each signal.
  func use(_ action: @escaping @EventLoop () -> Void) {
    self.action = action
    for _ in 0..<early { action() }
    early = 0
  }
}
