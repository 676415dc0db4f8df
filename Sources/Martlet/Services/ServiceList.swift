import EventLoop
import HTTPServer
import Telemetry

/// The services of the process, and the files that SIGHUP makes them read again.
@EventLoop
struct ServiceList {
  private let services: [any Service]
  /// Each reads files again.
  private let reloads: [@EventLoop () -> Void]
  private let log: Log

  /// - Parameters:
  ///   - services: in the order of their start.
  ///   - settings: where the admin port listens, which comes first.
  ///   - readiness: the answer of /readyz.
  init(
    _ services: [any Service], reloads: [(@EventLoop () -> Void)?], _ settings: ServiceSettings, metrics: Metrics,
    log: Log,
    readiness: @escaping @EventLoop () -> HTTPResponse
  ) {
    let admin: (any Service)? = settings.adminAddress.map {
      AdminPort(address: $0, metrics: metrics, log: log, readiness: readiness)
    }
    self.services = (admin.map { [$0] } ?? []) + services
    self.reloads = reloads.compactMap { $0 }
    self.log = log
    metrics.addProcess(version: Version.current)
  }

  /// Starts the services, and returns when a signal has stopped them. The second signal ends their grace time.
  func run() async throws {
    for service in services { try await service.start() }
    Reload.use(reloads, log: log)
    await withCheckedContinuation { stopped in
      var isStopping = false
      Termination.use {
        if isStopping { return services.forEach { $0.endGrace() } }
        isStopping = true
        Task { @EventLoop in
          await stop()
          stopped.resume()
        }
      }
    }
  }

  /// Stops the services in reverse, at the same time, because each has the whole grace time. Then closes them in reverse.
  private func stop() async {
    let stops = services.reversed().map { service in Task { @EventLoop in await service.stop() } }
    for stop in stops { await stop.value }
    for service in services.reversed() { await service.close() }
  }
}
