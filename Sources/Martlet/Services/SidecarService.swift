import Backup
import Worker
import APNs
import EventLoop
import Events
import Redis
import HTTPServer
import Registry
import Sidecar
import Telemetry

/// A running sidecar and its connections.
@EventLoop
final class SidecarService {
  private let settings: SidecarSettings
  private let log: Log
  private let connection: RedisClient?
  private let ownClients: AppClients?
  /// Nil without a file of apps, and if a worker runs in this process.
  private let apps: ServedApps?
  private let sidecar: Sidecar
  /// False if a worker runs in this process. Its admin port then has the metrics of both, and it logs what they share.
  private let isAlone: Bool
  private let metrics: Metrics
  private let adminAddress: String?
  private var admin: AdminPort?
  /// Nil without TLS.
  let certificate: ServedCertificate?
  private var isStopping = false
  private var onStopped: [@EventLoop () -> Void] = []

  /// `clients` are those of a worker in this process. Nil if there is none or if it is in polling-only mode.
  /// So is `eventMetrics`.
  init(
    _ settings: SidecarSettings, metrics: Metrics, clients: AppClients? = nil, eventMetrics: EventMetrics? = nil,
    isAlone: Bool = true, log: Log
  ) {
    self.settings = settings
    self.isAlone = isAlone
    self.metrics = metrics
    self.log = log
    adminAddress = isAlone ? settings.adminAddress : nil
    let connection = settings.redis.map { RedisClient(endpoint: $0, name: "martlet-sidecar", log: log) }
    // The worker of this process reports on its own connection.
    if isAlone, let connection { _ = RedisInstruments(metrics, connection: connection) }
    let events = eventMetrics ?? EventMetrics(metrics)
    let backend = connection.map { SidecarService.backend($0, settings, events, log) }
    let own = clients == nil ? settings.clients(metrics, log) : nil
    sidecar = Sidecar(
      settings.sidecar, backend: backend,
      sender: SidecarService.sender(clients ?? own, backend, settings.gateway, log),
      metrics: metrics, log: log)
    self.connection = connection
    ownClients = own
    apps = own.flatMap { own in settings.apps.map { ServedApps($0.file, clients: own, log: log) } }
    certificate = settings.certificateFiles.flatMap { files in
      settings.sidecar.listener.certificate.map { ServedCertificate(files, $0, metrics: metrics, log: log) }
    }
  }

  private static func backend(
    _ connection: RedisClient, _ settings: SidecarSettings, _ metrics: EventMetrics, _ log: Log
  ) -> Backend {
    let events = settings.writesEvents ? EventLog(connection: connection, metrics: metrics, log: log) : nil
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
          "refused": .init(done.refused.values.reduce(0, +)),
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
    if settings.redis == nil {
      log.warn(
        "Redis is not configured: nothing can be registered",
        ["missing": .init(settings.sidecar.missingRedisVariables.joined(separator: ","))])
    }
    let isPolling = settings.gateway.configuration == nil && settings.apps == nil
    if isAlone {
      log.info(isPolling ? "APNs not configured: polling-only mode" : "APNs push notifications enabled")
    }
    if isPolling {
      log.info(
        "APNs is not configured: no test pushes",
        ["missing": .init(settings.sidecar.missingAPNsVariables.joined(separator: ","))])
    }
    if let adminAddress {
      let admin = AdminPort(
        address: adminAddress, metrics: metrics, log: log,
        readiness: { [weak self] in self?.sidecar.readiness ?? Readiness.gone.response })
      try admin.start()
      self.admin = admin
    }
    connection?.start()
    ownClients?.start()
    try sidecar.start()
    certificate?.add { [sidecar] certificate throws(HTTPServerError) in
      try sidecar.replaceCertificate(with: certificate)
    }
  }

  /// Reads the files of the certificate and of the apps again. Nil if there are none.
  var reload: (@EventLoop () -> Void)? {
    guard certificate != nil || apps != nil else { return nil }
    return { [certificate, apps] in
      certificate?.reload()
      apps?.reload()
    }
  }

  /// Stops the sidecar. A second call ends the wait for open requests, also for the first call.
  func stop(then stopped: @escaping @EventLoop () -> Void) {
    onStopped.append(stopped)
    guard !isStopping else { return ended() }
    isStopping = true
    log.info("stopping: no more connections")
    Task { @EventLoop in
      await sidecar.stop(grace: settings.shutdownGrace)
      ownClients?.close()
      connection?.close()
      await admin?.close()
      log.info("sidecar stopped")
      ended()
    }
  }

  private func ended() {
    let waiting = onStopped
    onStopped = []
    for stopped in waiting { stopped() }
  }
}

extension SidecarSettings {
  /// Nil if APNs is not configured.
  @EventLoop
  fileprivate func clients(_ metrics: Metrics, _ log: Log) -> AppClients? {
    guard gateway.configuration != nil || apps != nil else { return nil }
    return AppClients(fallback: gateway.configuration, apps: apps?.apps ?? [], metrics: metrics, log: log)
  }
}

extension DirectDelivery: DirectSender {}
