import APNs
import Dashboard
import HTTPServer
import Policy
import Redis
import Registry
import Sidecar
import Telemetry

/// The settings of a dashboard. It needs Redis.
package struct DashboardSettings {
  static let setting = "MARTLET_DASHBOARD_ADDRESS"
  static let defaultAddress = "127.0.0.1:8081"
  /// Differs from those of the worker and of the sidecar, because all may run on one machine.
  static let defaultAdminAddress = "127.0.0.1:9092"

  /// Whether `MARTLET_DASHBOARD_ADDRESS` is set.
  var isAddressSet: Bool
  /// Nil if the dashboard is off.
  var dashboard: DashboardConfiguration?
  /// Nil without TLS.
  var certificateFiles: CertificateFiles?
  /// Whether events are written to `push:events`.
  var writesEvents: Bool
  var redis: RedisEndpoint
  /// The admin address of a dashboard that runs alone. Nil if it is off.
  var adminAddress: String?
  var shutdownGrace: Duration
  var logLevel: LogLevel

  /// Reads the settings of a dashboard. Throws every fault at once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(values)
    let redis = RedisSettings.read(&reader, isRequired: true)
    let pair = CertificateFiles.read(&reader)
    certificateFiles = pair?.files
    var configuration = DashboardConfiguration(
      address: DashboardSettings.defaultAddress, queues: SharedSettings.queues(&reader))
    configuration.listener.certificate = pair?.certificate
    configuration.maximumDevices = SharedSettings.maximumDevices(&reader)
    configuration.policies = PolicySettings.read(&reader)
    configuration.bundleID = reader.first(of: ["APNS_BUNDLE_ID", "CLAUDIATOR_APNS_BUNDLE_ID"])?.value
    configuration.fixOfPause = { RouteNotice.fix(ofPauseFor: $0) }
    configuration.fixOfStoppedRemoval = RouteNotice.fixOfStoppedRemoval
    configuration.version = Version.current
    writesEvents = EventSettings.read(&reader).areWritten
    isAddressSet = reader.string(DashboardSettings.setting) != nil
    configuration.failureLimit = SharedSettings.failureLimit(&reader)
    configuration.listener.trustedProxies = SharedSettings.trustedProxies(&reader)
    dashboard = DashboardSettings.readAddress(&reader).map { address in
      configuration.listener.address = address
      return configuration
    }
    adminAddress = SharedSettings.adminAddress(&reader, default: DashboardSettings.defaultAdminAddress)
    shutdownGrace = SharedSettings.shutdownGrace(&reader)
    logLevel = SharedSettings.logLevel(&reader)
    guard reader.faults.isEmpty, let redis else { throw ConfigurationFaults(reader.faults) }
    self.redis = redis
  }

  /// Returns nil if the dashboard is off.
  private static func readAddress(_ reader: inout EnvironmentReader) -> String? {
    guard let value = reader.string(setting) else { return defaultAddress }
    if value.lowercased() == "off" { return nil }
    return reader.address(setting, value, or: "; or off") ?? defaultAddress
  }
}
