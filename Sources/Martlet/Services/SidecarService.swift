import APNs
import Backup
import EventLoop
import Events
import HTTPServer
import Program
import Redis
import Registry
import Sidecar
import Telemetry
import Worker

#if canImport(Glibc)
  import Glibc
#endif

/// A running sidecar and its connections.
@EventLoop
final class SidecarService: Service {
  /// What connections may take in a process that has pushes and a dashboard, too. Bytes.
  private nonisolated static let budgetBesideWorker = 40 << 20

  private let settings: SidecarSettings
  private let log: Log
  private let connection: RedisClient?
  private let ownClients: AppClients?
  /// Nil without files, and if a worker runs in this process.
  let apps: ServedApps?
  private let sidecar: Sidecar
  /// False if a worker runs in this process. It logs what they share.
  private let isAlone: Bool

  /// - Parameters:
  ///   - values: the environment of the process.
  ///   - worker: the worker of this process, whose connections to APNs the sidecar uses.
  ///   - certificate: nil without TLS.
  init(
    _ settings: SidecarSettings, _ values: [String: String], beside worker: WorkerService? = nil,
    certificate: ServedCertificate?,
    metrics: Metrics, log: Log
  ) {
    self.settings = settings
    self.log = log
    isAlone = worker == nil
    connection = settings.service.redis.map { RedisClient(endpoint: $0, name: "martlet-sidecar", log: log) }
    // The worker of this process reports on its own connection.
    if isAlone, let connection { _ = RedisInstruments(metrics, connection: connection, log: log) }
    let events = worker?.eventMetrics ?? EventMetrics(metrics)
    let backend = connection.map { SidecarService.backend($0, settings, events, log) }
    let own = worker?.clients == nil ? settings.clients(metrics, log) : nil
    var served = settings.sidecar
    if !isAlone { served.listener.budget.bytes = SidecarService.budgetBesideWorker }
    sidecar = Sidecar(
      served, backend: backend,
      sender: SidecarService.sender(worker?.clients ?? own, backend, settings.gateway, log),
      metrics: metrics, log: log)
    ownClients = own
    apps = ServedApps(values, apps: settings.apps ?? [], clients: own, log: log)
    certificate?.add(sidecar.replaceCertificate)
  }

  /// Each reads files of an API again.
  var reloads: [(@EventLoop () -> Void)?] { sidecar.reloads }

  /// The answer of `/readyz`.
  var readiness: HTTPResponse { sidecar.readiness }

  private static func backend(
    _ connection: RedisClient, _ settings: SidecarSettings, _ metrics: EventMetrics, _ log: Log
  ) -> Backend {
    let events = settings.sidecar.writesEvents ? EventLog(connection: connection, metrics: metrics, log: log) : nil
    var backend = Backend(
      connection: connection, maximumDevices: settings.maximumDevices, events: events, log: log)
    backend.backupImport = backupImport(backend.registry, log)
    return backend
  }

  private static func backupImport(_ registry: Registry, _ log: Log) -> BackupImport {
    { path in
      // Opening a pipe without a writer would block.
      try SettingFile.check(path)
      let done = try await registry.importBackup(path: path)
      log.info(
        "backup imported",
        [
          "path": .init(path), "new": .init(done.created), "updated": .init(done.updated), "kept": .init(done.kept),
          "refused": .init(done.refused.values.reduce(0, +)), "notOfAPNs": .init(done.notOfAPNs),
        ])
    }
  }

  private static func sender(
    _ clients: AppClients?, _ backend: Backend?, _ gateway: APNsSettings, _ log: Log
  ) -> (any DirectSender)? {
    guard let clients, let backend else { return nil }
    let composer = PushComposer(
      bundleID: gateway.bundleID, environment: gateway.defaultEnvironment, clients: clients)
    return DirectDelivery(clients: clients, registry: backend.registry, composer: composer, log: log)
  }

  func start() throws {
    if settings.service.redis == nil {
      // Operator: Set `REDIS_URL` for the sidecar.
      log.warn(
        "Redis is not configured: nothing can be registered",
        ["missing": .init(settings.sidecar.missingRedisVariables.joined(separator: ","))])
    }
    let isPolling = settings.gateway.configuration == nil && settings.apps == nil
    if isAlone {
      // Operator: Check that it is the mode you want, not `APNs push notifications enabled`.
      log.info(isPolling ? "APNs not configured: polling-only mode" : "APNs push notifications enabled")
    }
    if isPolling {
      log.info(
        "APNs is not configured: no test pushes",
        ["missing": .init(settings.sidecar.missingAPNsVariables.joined(separator: ","))])
    }
    if settings.sidecar.backupPath == nil, access("backup.json", F_OK) == 0 {
      log.info(
        "backup.json in the working directory is not read",
        ["fix": "to import it, set MARTLET_PUSH_SERVER_BACKUP=backup.json, or run martlet tokens import"])
    }
    connection?.start()
    ownClients?.start()
    try sidecar.start()
  }

  func stop() async {
    log.info("stopping: no more connections")
    await sidecar.stop(grace: settings.service.shutdownGrace)
  }

  func endGrace() { EventLoop.start { [self] in await sidecar.stop(grace: .zero) } }

  func close() {
    ownClients?.close()
    connection?.close()
    log.info("sidecar stopped")
  }
}

extension SidecarSettings {
  /// Nil if APNs is not configured.
  @EventLoop
  fileprivate func clients(_ metrics: Metrics, _ log: Log) -> AppClients? {
    guard gateway.configuration != nil || apps != nil else { return nil }
    return AppClients(fallback: gateway.configuration, apps: apps ?? [], metrics: metrics, log: log)
  }
}

extension DirectDelivery: DirectSender {}
