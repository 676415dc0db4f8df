import EventLoop
import Redis
import Registry
import Telemetry

/// Brings devices to the form in which everything else expects them: tokens to their one form, and devices that were registered
/// without an app to the default app, so that jobs to that app reach them.
///
/// Other programs write such devices, and a sidecar without APNS_BUNDLE_ID writes those without an app. One worker of the fleet looks
/// for them, at its start and once an hour.
@EventLoop
final class DeviceWalk {
  private static let interval = Duration.seconds(3600)
  /// Between two parts, which take Redis a few milliseconds each.
  private static let pause = Duration.milliseconds(10)

  private let registry: Registry
  /// Nil if there is no default app.
  private let app: String?
  private let log: Log
  private var phase = Phase.idle
  private var walk: Task<Void, Never>?

  private enum Phase {
    case idle
    /// Begins again with each interval.
    case running(LoopTimer)
    /// The worker stops. Nothing begins any more.
    case stopped
  }

  init(registry: Registry, app: String?, log: Log) {
    self.registry = registry
    self.app = app
    self.log = log
  }

  /// Begins, unless it has begun or was stopped. Call it once Redis can be reached.
  func start() {
    guard case .idle = phase else { return }
    phase = .running(.every(DeviceWalk.interval) { [weak self] in self?.begin() })
    begin()
  }

  /// Ends early. Another worker may begin as soon as ``close()`` has returned.
  func stop() {
    phase = .stopped
    walk?.cancel()
  }

  /// Returns when nothing is looked for any more. Call it after ``stop()``.
  func close() async { await walk?.value }

  private func begin() {
    walk = EventLoop.start { [registry, app, log] in
      do throws(RedisError) {
        let seconds = Int(DeviceWalk.interval.components.seconds) - 1
        guard try await registry.claimWalk(forApp: app, seconds: seconds) else { return }
        let count = try await DeviceWalk.run(registry, app)
        if Task.isCancelled { try await registry.releaseWalk() }
        if count > 0 {
          log.info("devices without an app got the default app", ["app": .init(app ?? ""), "devices": .init(count)])
        }
      } catch {
        // Operator: See `error`. Workers try again within an hour.
        log.warn(
          "not all devices could be looked through: jobs do not reach those without an app, and other forms of tokens stay",
          ["app": .init(app ?? ""), "error": .init("\(error)")])
      }
    }
  }

  private static func run(_ registry: Registry, _ app: String?) async throws(RedisError) -> Int {
    var count = 0
    for server in 0..<registry.serverCount {
      var cursor: String? = "0"
      while let from = cursor, !Task.isCancelled {
        let part = try await registry.tidy(app: app, server: server, from: from)
        count += part.changed
        cursor = part.next
        do { try await Task.sleep(for: pause) } catch { return count }
      }
    }
    return count
  }
}
