import APNs
import Policy
import Queue
import Redis
import Telemetry
import Worker

extension WorkerConfiguration {
  /// Reads all of it; reports every fault at once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(values)
    let redis = RedisSettings.read(&reader, isRequired: true)
    // Without Redis the rest is read for its faults alone.
    self.init(redis: redis ?? .unset)
    let gateway = APNsSettings.read(&reader)
    apns = gateway.configuration
    bundleID = gateway.bundleID
    defaultEnvironment = gateway.defaultEnvironment
    queues = WorkerConfiguration.readQueues(&reader)
    mode = reader.choice("MARTLET_DELIVERY", default: .atLeastOnce)
    concurrency = reader.integer("MARTLET_CONCURRENCY", in: 1...65_536, default: 512)
    maximumAttempts = reader.integer("MARTLET_MAX_ATTEMPTS", in: 1...1000, default: 8)
    results = reader.choice("MARTLET_RESULTS", default: .all)
    resultTimeToLive = reader.duration("MARTLET_RESULT_TTL", default: .seconds(24 * 3600))
    notifications = reader.choice("MARTLET_NOTIFICATION_LOG", default: .unsent)
    policies = PolicySettings.read(&reader)
    shutdownGrace = reader.duration("MARTLET_SHUTDOWN_GRACE", default: .seconds(25))
    adminAddress = WorkerConfiguration.readAdminAddress(&reader, default: WorkerConfiguration.defaultAdminAddress)
    logLevel = WorkerConfiguration.readLogLevel(&reader)
    guard reader.faults.isEmpty, redis != nil else { throw ConfigurationFaults(reader.faults) }
  }

  static func readQueues(_ reader: inout EnvironmentReader) -> [String] {
    guard let value = reader.string("MARTLET_QUEUES") else { return defaultQueues }
    let names = value.split(separator: ",", omittingEmptySubsequences: false).map {
      String($0.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
    guard names.count <= 16, Set(names).count == names.count, names.allSatisfy(isQueueName) else {
      reader.report(
        "MARTLET_QUEUES", wrong: value,
        expected: "1 to 16 different list names separated by commas, without braces or spaces, first is served first")
      return defaultQueues
    }
    return names
  }

  /// Whether a list can have that name: it stands between braces in others.
  static func isQueueName(_ name: String) -> Bool {
    (1...128).contains(name.utf8.count) && !name.unicodeScalars.contains(where: isForeign)
  }

  private static func isForeign(_ scalar: Unicode.Scalar) -> Bool {
    "{} ".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
  }

  static func readLogLevel(_ reader: inout EnvironmentReader) -> LogLevel {
    guard let value = reader.string("MARTLET_LOG") else { return .info }
    guard let level = LogLevel(value.lowercased()) else {
      reader.report("MARTLET_LOG", wrong: value, expected: "one of error, warn, info, debug")
      return .info
    }
    return level
  }

  /// Nil when it is off.
  static func readAdminAddress(_ reader: inout EnvironmentReader, default fallback: String) -> String? {
    guard let value = reader.string(AdminServer.setting) else { return fallback }
    if value.lowercased() == "off" { return nil }
    if value == "0" { return "127.0.0.1:0" }
    return reader.address(AdminServer.setting, value, or: "; or off")
  }
}
