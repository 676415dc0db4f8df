import Dashboard
import HTTPServer
import Jobs
import Program
import Redis
import Registry
import Sidecar
import Telemetry

/// The settings of a dashboard. It needs Redis.
package struct DashboardSettings {
  static let defaultAddress = HTTPAddress.loopback(port: 8081)
  /// Differs from those of the worker and of the sidecar, because all may run on one machine.
  static let defaultAdminAddress = HTTPAddress.loopback(port: 9092)

  let service: ServiceSettings
  let redis: RedisEndpoint
  let http: ListenerSettings
  /// Whether `MARTLET_DASHBOARD_ADDRESS` is set.
  let isAddressSet: Bool
  /// Nil if the dashboard is off.
  let dashboard: DashboardConfiguration?

  /// Reads the settings of a dashboard. Throws every fault at once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(ProcessEnvironment(values, settingsOfParts: Parts.settings))
    let address = reader.addressOrOff(.dashboardAddress, default: DashboardSettings.defaultAddress)
    http = ListenerSettings(&reader, address: address ?? DashboardSettings.defaultAddress)
    service = ServiceSettings(&reader, adminAddress: DashboardSettings.defaultAdminAddress)
    var configuration = DashboardConfiguration(listener: http.listener, queues: SharedSettings.queues(&reader))
    configuration.maximumDevices = SharedSettings.maximumDevices(&reader)
    TimeZoneSetting.check(&reader)
    configuration.version = Version.current
    configuration.writesEvents = service.writesEvents
    for part in Parts.all { part.add(to: &configuration, &reader) }
    configuration.statuses = { connection throws(RedisError) in try await Parts.statuses(connection) }
    isAddressSet = reader.text(.dashboardAddress) != nil
    configuration.failureLimit = SharedSettings.failureLimit(&reader)
    dashboard = address == nil ? nil : configuration
    guard reader.faults.isEmpty, let redis = service.redis else { throw ConfigurationFaults(reader.faults) }
    self.redis = redis
  }
}
