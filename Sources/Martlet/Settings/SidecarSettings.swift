import PushModel
import Worker
import APNs
import Redis
import Registry
import Sidecar
import Telemetry

/// Everything `martlet sidecar` is told, from the environment alone. It starts without Redis and without APNs.
package struct SidecarSettings {
  static let defaultAddress = "127.0.0.1:8080"
  /// Not the worker's: both may run on one machine.
  static let defaultAdminAddress = "127.0.0.1:9091"

  var sidecar: SidecarConfiguration
  /// Nil: not configured.
  var redis: RedisEndpoint?
  /// Of one user.
  var maximumDevices: Int
  var gateway: APNsSettings
  /// Of a sidecar alone; nil when off.
  var adminAddress: String?
  var shutdownGrace: Duration
  var logLevel: LogLevel

  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(values)
    sidecar = SidecarConfiguration(address: SidecarSettings.readAddress(&reader))
    redis = RedisSettings.read(&reader, isRequired: false)
    maximumDevices = SidecarSettings.readMaximumDevices(&reader)
    gateway = APNsSettings.read(&reader, isPartAllowed: true)
    if redis == nil {
      sidecar.missingRedisVariables = ["REDIS_KV_REST_API_URL", "REDIS_KV_REST_API_TOKEN"].filter {
        reader.string($0) == nil
      }
    }
    sidecar.missingAPNsVariables = gateway.missing
    sidecar.originPolicy = SidecarSettings.readOriginPolicy(&reader)
    sidecar.sendConcurrency = reader.integer("APNS_SEND_CONCURRENCY", in: 1...20, default: 4)
    sidecar.lookupConcurrency = reader.integer("PUSH_METADATA_LOOKUP_CONCURRENCY", in: 1...20, default: 8)
    sidecar.isBroadcastOpen = reader.boolean("MARTLET_PUSH_SERVER_OPEN")
    sidecar.backupPath = SidecarSettings.readBackupPath(&reader)
    sidecar.bundleID = gateway.bundleID
    sidecar.defaultEnvironment = gateway.defaultEnvironment == .sandbox ? .sandbox : .production
    sidecar.registrationEnvironment = gateway.isEnvironmentNamed ? sidecar.defaultEnvironment : nil
    let queues = WorkerConfiguration.readQueues(&reader)
    sidecar.queue = queues.contains(sidecar.queue) ? sidecar.queue : queues[0]
    sidecar.readLimits(&reader)
    adminAddress = WorkerConfiguration.readAdminAddress(&reader, default: SidecarSettings.defaultAdminAddress)
    shutdownGrace = reader.duration("MARTLET_SHUTDOWN_GRACE", default: .seconds(25))
    logLevel = WorkerConfiguration.readLogLevel(&reader)
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
  }

  private static func readOriginPolicy(_ reader: inout EnvironmentReader) -> OriginPolicy {
    var policy = OriginPolicy()
    policy.environment = reader.choice("MARTLET_ENV", default: .development)
    policy.allowedOrigins = reader.list("MARTLET_ALLOWED_ORIGINS")
    policy.previewHostPrefixes = reader.list("MARTLET_PREVIEW_HOST_PREFIXES")
    policy.trustedHostSuffixes = reader.list("MARTLET_TRUSTED_HOST_SUFFIXES")
    for origin in policy.allowedOrigins where !OriginPolicy.isOrigin(origin) {
      reader.report(
        "MARTLET_ALLOWED_ORIGINS", wrong: origin,
        expected: "https://host[:port] without a path, separated by commas")
    }
    return policy
  }

  private static func readBackupPath(_ reader: inout EnvironmentReader) -> String? {
    let name = "MARTLET_PUSH_SERVER_BACKUP"
    guard let path = reader.path(name) else { return nil }
    // To an import - is stdin.
    guard path != "-", !path.contains("://"), !path.contains(where: \.isNewline) else {
      reader.report(name, wrong: path, expected: "the path of a backup.json")
      return nil
    }
    return path
  }

  static func readMaximumDevices(_ reader: inout EnvironmentReader) -> Int {
    reader.integer("MARTLET_MAX_DEVICES", in: Registry.deviceLimits, default: Registry.defaultMaximumDevices)
  }

  private static func readAddress(_ reader: inout EnvironmentReader) -> String {
    guard let value = reader.string("MARTLET_HTTP_ADDRESS") else { return defaultAddress }
    return reader.address("MARTLET_HTTP_ADDRESS", value) ?? defaultAddress
  }
}
