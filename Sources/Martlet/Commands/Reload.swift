import EventLoop
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// SIGHUP for the services: files are read again. It never ends a service.
@EventLoop
enum Reload {
  nonisolated static let signal = SIGHUP
  /// Whether the signal arrived before the service had started.
  private static var isEarly = false
  private static var reload: (@EventLoop () -> Void)?

  /// A signal that arrives while a service starts is kept until ``use(_:log:)``.
  static func receive() {
    if let reload { reload() } else { isEarly = true }
  }

  /// Calls `reload` for each signal. Nil if the service has nothing to read again, which is logged.
  static func use(_ reload: (@EventLoop () -> Void)?, log: Log) {
    let reload =
      reload ?? {
        log.info("SIGHUP: nothing to read again (settings are read at the start only)")
      }
    Reload.reload = reload
    if isEarly { reload() }
    isEarly = false
  }

  /// What two services in one process read again; nil if neither has anything to read.
  static func both(_ first: (@EventLoop () -> Void)?, _ second: (@EventLoop () -> Void)?) -> (@EventLoop () -> Void)? {
    guard let first, let second else { return first ?? second }
    return {
      first()
      second()
    }
  }
}
