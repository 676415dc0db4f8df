import Dashboard
import EventLoop
import Events
import HTTPServer
import Redis
import Telemetry
import Worker

/// A running dashboard and its connection.
@EventLoop
final class DashboardService {
  private let settings: DashboardSettings
  private let connection: RedisClient
  private let dashboard: Dashboard
  private let metrics: Metrics
  private let log: Log
  private let adminAddress: String?
  private var admin: AdminPort?
  /// Nil without TLS.
  private let certificate: ServedCertificate?
  private var isStopping = false
  private var onStopped: [@EventLoop () -> Void] = []

  /// - Parameters:
  ///   - eventMetrics: those of a worker in this process.
  ///   - certificate: the one of a sidecar in this process, which serves the same files.
  ///   - isAlone: false if a worker runs in this process, whose admin port has the metrics of both.
  init(
    _ configuration: DashboardConfiguration, _ settings: DashboardSettings, metrics: Metrics,
    eventMetrics: EventMetrics? = nil, certificate: ServedCertificate? = nil, isAlone: Bool = true, log: Log
  ) {
    self.settings = settings
    self.metrics = metrics
    self.log = log
    adminAddress = isAlone ? settings.adminAddress : nil
    connection = RedisClient(endpoint: settings.redis, name: "martlet-dashboard", log: log)
    if isAlone { _ = RedisInstruments(metrics, connection: connection) }
    let counters = eventMetrics ?? EventMetrics(metrics)
    let events = settings.writesEvents ? EventLog(connection: connection, metrics: counters, log: log) : nil
    dashboard = Dashboard(configuration, connection: connection, events: events, metrics: metrics, log: log)
    self.certificate =
      certificate
      ?? settings.certificateFiles.flatMap { files in
        configuration.listener.certificate.map { ServedCertificate(files, $0, metrics: metrics, log: log) }
      }
  }

  /// Throws a ``CommandError`` if other machines could use the dashboard without being operators.
  func start() async throws {
    connection.start()
    // Without Redis it starts too, and each page says that Redis does not answer.
    do {
      try await dashboard.start()
    } catch .open(let message) {
      throw CommandError.refused(message)
    } catch .server(let error) {
      throw error
    }
    certificate?.add { [dashboard] certificate throws(HTTPServerError) in
      try dashboard.replaceCertificate(with: certificate)
    }
    guard let adminAddress else { return }
    let admin = AdminPort(
      address: adminAddress, metrics: metrics, log: log,
      readiness: { [weak self] in self?.dashboard.readiness ?? Readiness.gone.response })
    try admin.start()
    self.admin = admin
  }

  /// Reads the files of the certificate again. Nil if there are none.
  var reload: (@EventLoop () -> Void)? {
    guard let certificate else { return nil }
    return { certificate.reload() }
  }

  /// Stops the dashboard. A second call ends the wait for open requests, also for the first call.
  func stop(then stopped: @escaping @EventLoop () -> Void) {
    onStopped.append(stopped)
    guard !isStopping else { return ended() }
    isStopping = true
    Task { @EventLoop in
      await dashboard.stop(grace: settings.shutdownGrace)
      connection.close()
      await admin?.close()
      log.info("dashboard stopped")
      ended()
    }
  }

  private func ended() {
    let waiting = onStopped
    onStopped = []
    for stopped in waiting { stopped() }
  }
}
