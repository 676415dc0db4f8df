import Dashboard
import EventLoop
import Events
import HTTPServer
import Program
import Redis
import Telemetry
import Worker

/// A running dashboard and its connection.
@EventLoop
final class DashboardService: Service {
  private let settings: DashboardSettings
  private let connection: RedisClient
  private let dashboard: Dashboard
  private let isAlone: Bool
  private let log: Log

  /// - Parameters:
  ///   - worker: the worker of this process, which counts what they share.
  ///   - certificate: nil without TLS.
  init(
    _ settings: DashboardSettings, _ configuration: DashboardConfiguration, beside worker: WorkerService? = nil,
    certificate: ServedCertificate?, metrics: Metrics, log: Log
  ) {
    self.settings = settings
    self.log = log
    isAlone = worker == nil
    connection = RedisClient(endpoint: settings.redis, name: "martlet-dashboard", log: log)
    if isAlone { _ = RedisInstruments(metrics, connection: connection, log: log) }
    let counters = worker?.eventMetrics ?? EventMetrics(metrics)
    let events =
      configuration.writesEvents ? EventLog(connection: connection, metrics: counters, log: log) : nil
    dashboard = Dashboard(configuration, connection: connection, events: events, metrics: metrics, log: log)
    certificate?.add(dashboard.replaceCertificate)
  }

  /// The answer of `/readyz`.
  var readiness: HTTPResponse { dashboard.readiness }

  /// Throws a ``CommandError`` if other machines could use the dashboard without being operators.
  func start() async throws {
    connection.start()
    // Without Redis it starts too, and each page says that Redis does not answer.
    do throws(DashboardError) {
      try await dashboard.start()
    } catch {
      switch error {
      case .open(let message): throw CommandError.refused(message)
      // Deliveries must not depend on a port that nobody asked for.
      case .server(let error) where !isAlone && !settings.isAddressSet:
        // Operator: Follow `fix`. Deliveries do not depend on it.
        log.warn(
          "the dashboard is not served",
          [
            "reason": .init("\(error)"),
            "fix": .init("set \(Setting.dashboardAddress.name) to another address, or to off"),
          ])
      case .server(let error): throw error
      }
    }
  }

  func stop() async { await dashboard.stop(grace: settings.service.shutdownGrace) }

  func endGrace() { EventLoop.start { [self] in await dashboard.stop(grace: .zero) } }

  func close() {
    connection.close()
    log.info("dashboard stopped")
  }
}
