import APNs
import Dispatch
import EventLoop
import JSON
import Telemetry
import Worker

/// The apps of a service: its clients, and the file that is read again on SIGHUP.
@EventLoop
final class ServedApps {
  /// Faults of one reading that are logged.
  private static let maximumLogged = 20

  /// Called with the apps that are used from now on.
  private var onChange: (@EventLoop ([APNsApp]) -> Void)?

  private let file: AppsFile
  private let clients: AppClients
  private let log: Log
  /// Reading many files blocks, so it runs on its own queue.
  private let queue = DispatchQueue(label: "martlet.apps")

  init(_ file: AppsFile, clients: AppClients, log: Log) {
    self.file = file
    self.clients = clients
    self.log = log
  }

  /// The apps of a worker. Nil if it has no file of apps.
  convenience init?(_ configuration: WorkerConfiguration, _ worker: WorkerService, log: Log) {
    guard let path = configuration.appsPath, let clients = worker.clients else { return nil }
    let file = AppsFile(
      path: path, defaultEnvironment: configuration.defaultEnvironment, beside: configuration.apns)
    self.init(file, clients: clients, log: log)
    onChange = { [weak worker] in worker?.configure(appShares: .init($0)) }
  }

  /// Reads the file again and uses its apps. With a fault those in use stay.
  func reload() {
    let file = file
    queue.async {
      let (apps, faults) = file.read()
      EventLoop.run { self.use(apps, faults) }
    }
  }

  private func use(_ apps: [APNsApp], _ faults: [InvalidValue]) {
    guard faults.isEmpty else { return report(faults) }
    let change = clients.replace(apps: apps)
    onChange?(apps)
    log.info(
      "apps read again",
      [
        "path": .init(ValueQuote.text(file.path, as: .path)), "apps": .init(apps.count), "added": .init(change.added),
        "changed": .init(change.changed), "removed": .init(change.removed),
      ])
  }

  private func report(_ faults: [InvalidValue]) {
    for fault in faults.prefix(ServedApps.maximumLogged) {
      log.error(
        "the file of the apps is invalid; the apps in use stay",
        [
          "setting": .init(AppsFile.setting), "path": .init(ValueQuote.text(file.path, as: .path)),
          "place": .init(fault.place), "seen": .init(fault.seen),
          "fix": .init("expected \(fault.expected); then send SIGHUP again"),
        ])
    }
    guard faults.count > ServedApps.maximumLogged else { return }
    log.error(
      "the file of the apps has more faults",
      ["count": .init(faults.count - ServedApps.maximumLogged), "fix": "martlet doctor lists them"])
  }
}

extension [String: AppShare] {
  /// The shares of the apps of a file, by bundle id.
  init(_ apps: [APNsApp]) {
    self.init(apps: apps.map { (bundleIDs: $0.bundleIDs, share: $0.share) })
  }
}
