import EventLoop
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// SIGHUP for the services: files are read again. It never ends a service.
@EventLoop
enum Reload {
  nonisolated static let signal = SIGHUP
  /// Whether the signal arrived before the services had started.
  private static var isEarly = false
  private static var reload: (@EventLoop () -> Void)?

  /// A signal that arrives while the services start is kept until ``use(_:log:)``.
  static func receive() {
    if let reload { reload() } else { isEarly = true }
  }

  /// Calls `reloads` for each signal. If there are none, that is logged.
  static func use(_ reloads: [@EventLoop () -> Void], log: Log) {
    let reload = { @EventLoop in
      if reloads.isEmpty { log.info("SIGHUP: nothing to read again (settings are read at the start only)") }
      for reload in reloads { reload() }
    }
    Reload.reload = reload
    if isEarly { reload() }
    isEarly = false
  }
}
