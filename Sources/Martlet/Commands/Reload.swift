import Dispatch
import EventLoop
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// SIGHUP for the services: files are read again. It never ends a service.
@EventLoop
enum Reload {
  nonisolated static let signal = SIGHUP
  private static var source: SignalSource?
  /// Whether the signal arrived before the service had started.
  private static var isEarly = false
  private static var receive: (@EventLoop () -> Void)?

  /// Keeps a signal that arrives while a service starts until ``use(_:log:)``. The signal must be blocked already.
  nonisolated static func listen() {
    EventLoop.queue.sync {
      EventLoop.assumeIsolated {
        source = SignalSource(signal) { if let receive { receive() } else { isEarly = true } }
      }
    }
  }

  /// Calls `reload` for each signal. Nil if the service has nothing to read again, which is logged.
  static func use(_ reload: (@EventLoop () -> Void)?, log: Log) {
    let receive =
      reload ?? {
        log.info("SIGHUP: nothing to read again (settings are read at the start only)")
      }
    Reload.receive = receive
    if isEarly { receive() }
    isEarly = false
  }
}
