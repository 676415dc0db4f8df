import APNs
import Dispatch
import EventLoop
import JSON
import Program
import Telemetry
import Worker

/// The keys and apps of a service: its clients, and the files that are read again on SIGHUP.
@EventLoop
final class ServedApps {
  /// Faults of one reading that are logged.
  private static let maximumLogged = 20

  /// Called with the apps that are used from now on.
  private var onChange: (@EventLoop ([APNsApp]) -> Void)?

  private let values: [String: String]
  private var apps: [APNsApp]
  private let clients: AppClients
  private let log: Log
  /// Reading many files blocks, so it runs on its own queue.
  private let queue = DispatchQueue(label: "martlet.apps")

  /// What the files say.
  private struct Reading: Sendable {
    var key: APNsConfiguration?
    var keyFaults: [InvalidValue] = []
    /// Nil without a file of apps.
    var apps: (path: String, apps: [APNsApp], faults: [InvalidValue])?

    init(_ values: [String: String]) {
      var reader = EnvironmentReader(values)
      let gateway = APNsSettings.read(&reader, isPartAllowed: true)
      (key, keyFaults) = (gateway.configuration, reader.faults)
      guard let path = reader.text(.apps) else { return }
      let file = AppsFile(path: path, defaultEnvironment: gateway.defaultEnvironment, beside: key)
      let (apps, faults) = file.read()
      self.apps = (path, apps, faults)
    }
  }

  /// `values`: the environment of the process. `apps` are in use. Nil if no setting names a file.
  init?(_ values: [String: String], apps: [APNsApp], clients: AppClients?, log: Log) {
    let reader = EnvironmentReader(values)
    guard let clients, ServedApps.isInFile(reader) else { return nil }
    self.values = values
    self.apps = apps
    self.clients = clients
    self.log = log
  }

  /// Those of a worker.
  convenience init?(_ values: [String: String], _ configuration: WorkerConfiguration, _ worker: WorkerService, log: Log)
  {
    self.init(values, apps: configuration.apps, clients: worker.clients, log: log)
    onChange = { [weak worker] in worker?.configure(appShares: .init($0)) }
  }

  private static func isInFile(_ reader: EnvironmentReader) -> Bool {
    if APNsSettings.namesFile(reader) || reader.string(Setting.apps.name) != nil { return true }
    return reader.string("APNS_CA_CERT").map { !$0.contains("-----BEGIN") } ?? false
  }

  /// Reads the files again and uses their keys and apps. With a fault those in use stay.
  func reload() {
    let values = values
    queue.async {
      let reading = Reading(values)
      EventLoop.run { self.use(reading) }
    }
  }

  private func use(_ reading: Reading) {
    for fault in reading.keyFaults {
      // Operator: Follow `fix`. `setting` names the file.
      log.error(
        "the key of APNs cannot be read again; the one in use stays",
        ["setting": .init(fault.place), "seen": .init(fault.seen), "fix": .init(ServedApps.fix(fault))])
    }
    let key = reading.keyFaults.isEmpty ? reading.key : nil
    let found = reading.apps.flatMap { $0.faults.isEmpty ? $0.apps : nil }
    if let file = reading.apps, found == nil { report(file.faults, path: file.path) }
    guard key != nil || found != nil else { return }
    apps = found ?? apps
    let change = clients.replace(apps: apps, fallback: key)
    if key != nil { log.info("key of APNs read again", ["changed": .init(booleanLiteral: change.isFallbackChanged)]) }
    guard let path = reading.apps?.path, found != nil else { return }
    onChange?(apps)
    log.info(
      "apps read again",
      [
        "path": .init(ValueQuote.text(path, as: .path)), "apps": .init(apps.count), "added": .init(change.added),
        "changed": .init(change.changed), "removed": .init(change.removed),
      ])
  }

  private func report(_ faults: [InvalidValue], path: String) {
    for fault in faults.prefix(ServedApps.maximumLogged) {
      // Operator: Follow `fix`. `place` is the place in the file.
      log.error(
        "the file of the apps is invalid; the apps in use stay",
        [
          "setting": .init(Setting.apps.name), "path": .init(ValueQuote.text(path, as: .path)),
          "place": .init(fault.place), "seen": .init(fault.seen), "fix": .init(ServedApps.fix(fault)),
        ])
    }
    guard faults.count > ServedApps.maximumLogged else { return }
    // Operator: Follow `fix`. `place` is the place in the file.
    log.error(
      "the file of the apps has more faults",
      ["count": .init(faults.count - ServedApps.maximumLogged), "fix": "martlet doctor lists them"])
  }

  private static func fix(_ fault: InvalidValue) -> String { "expected \(fault.expected); then send SIGHUP again" }
}

extension [String: AppShare] {
  /// The shares of the apps of a file, by bundle id.
  init(_ apps: [APNsApp]) {
    self.init(apps: apps.map { (bundleIDs: $0.bundleIDs, share: $0.share) })
  }
}
