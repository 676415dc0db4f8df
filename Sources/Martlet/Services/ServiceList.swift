import EventLoop
import HTTPServer
import Program
import Telemetry

/// The services of the process, and the files that SIGHUP makes them read again.
@EventLoop
struct ServiceList {
  private let services: [any Service]
  /// Each reads files again.
  private let reloads: [@EventLoop () -> Void]
  private let log: Log

  /// `services` are in the order of their start.
  init(_ services: [(any Service)?], reloads: [(@EventLoop () -> Void)?] = [], log: Log) {
    self.services = services.compactMap { $0 }
    self.reloads = reloads.compactMap { $0 }
    self.log = log
  }

  /// Starts the services, and returns when a signal has stopped them. The second signal ends their grace time.
  func run() async throws {
    for service in services { try await service.start() }
    ServiceSignal.reload.use {
      if reloads.isEmpty { log.info("SIGHUP: nothing to read again (settings are read at the start only)") }
      for reload in reloads { reload() }
    }
    await withCheckedContinuation { stopped in
      var isStopping = false
      ServiceSignal.termination.use {
        if isStopping { return services.forEach { $0.endGrace() } }
        isStopping = true
        EventLoop.start {
          await stop()
          stopped.resume()
        }
      }
    }
  }

  /// Stops the services in reverse, at the same time, because each has the whole grace time. Then closes them in reverse.
  private func stop() async {
    let stops = services.reversed().map { service in EventLoop.start { await service.stop() } }
    for stop in stops { await stop.value }
    for service in services.reversed() { await service.close() }
  }
}
