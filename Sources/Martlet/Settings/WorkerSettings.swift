import APNs
import HTTPServer
import Jobs
import Program
import Queue
import Redis
import Telemetry
import Worker

/// The settings of a worker.
package struct WorkerSettings {
  static let defaultAdminAddress = HTTPAddress.loopback(port: 9090)

  let service: ServiceSettings
  let worker: WorkerConfiguration

  /// Reads the settings of a worker. Throws every fault at once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(ProcessEnvironment(values, settingsOfParts: Parts.settings))
    service = ServiceSettings(&reader, adminAddress: WorkerSettings.defaultAdminAddress)
    worker = WorkerConfiguration(&reader, service)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
  }
}

extension WorkerConfiguration {
  fileprivate init(_ reader: inout EnvironmentReader, _ service: ServiceSettings) {
    // Without Redis the other settings are read for their faults alone.
    self.init(redis: service.redis ?? .unset)
    version = Version.current
    let gateway = APNsSettings.read(&reader)
    apns = gateway.configuration
    let apps = AppsFile.read(&reader, beside: gateway)
    self.apps = apps ?? []
    appShares = .init(self.apps)
    bundleID = gateway.bundleID
    defaultEnvironment = gateway.defaultEnvironment
    queues = SharedSettings.queues(&reader)
    mode = reader.choice(.delivery)
    concurrency = reader.integer(.concurrency)
    maximumAttempts = reader.integer(.maximumAttempts)
    results = reader.choice(.results)
    resultTimeToLive = reader.duration(.resultLifetime)
    recordMemory = reader.memory(.recordMemory)
    notifications = reader.choice(.notifications)
    writesEvents = service.writesEvents
    TimeZoneSetting.check(&reader)
    classes = Parts.classes(&reader)
    shutdownGrace = service.shutdownGrace
    for part in Parts.all { part.add(to: &self, &reader) }
  }
}
