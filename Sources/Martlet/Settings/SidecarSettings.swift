import APNs
import Credentials
import HTTPServer
import JSON
import Program
import PushModel
import Redis
import Sidecar
import Telemetry

/// The settings of a sidecar. It starts without Redis and without APNs.
package struct SidecarSettings {
  static let defaultAddress = HTTPAddress.loopback(port: 8080)
  /// Differs from the worker's, because both may run on one machine.
  static let defaultAdminAddress = HTTPAddress.loopback(port: 9091)

  let service: ServiceSettings
  let http: ListenerSettings
  var sidecar: SidecarConfiguration
  /// The maximum number of devices of a user in one app.
  var maximumDevices: Int
  var gateway: APNsSettings
  /// Nil without `MARTLET_APPS`.
  var apps: [APNsApp]?

  /// Reads the settings of a sidecar. Throws every fault at once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(ProcessEnvironment(values, settingsOfParts: Parts.settings))
    let address = reader.address(.httpAddress, default: SidecarSettings.defaultAddress)
    http = ListenerSettings(&reader, address: address)
    service = ServiceSettings(&reader, adminAddress: SidecarSettings.defaultAdminAddress, isRedisRequired: false)
    sidecar = SidecarConfiguration(listener: http.listener)
    sidecar.writesEvents = service.writesEvents
    maximumDevices = SharedSettings.maximumDevices(&reader)
    gateway = APNsSettings.read(&reader, isPartAllowed: true)
    apps = AppsFile.read(&reader, beside: gateway)
    sidecar.missingRedisVariables = service.redis == nil ? RedisSettings.missingPair(reader) : []
    // The apps need none of them.
    sidecar.missingAPNsVariables = apps == nil ? gateway.missing : []
    sidecar.originPolicy = SidecarSettings.readOriginPolicy(&reader)
    sidecar.sendConcurrency = reader.integer(.sendConcurrency)
    sidecar.lookupConcurrency = reader.integer(.lookupConcurrency)
    sidecar.isBroadcastOpen = reader.boolean(.broadcastIsOpen)
    if sidecar.isBroadcastOpen {
      sidecar.openDoors.append(.init(Setting.broadcastIsOpen.name, "register tokens and push to an app"))
    }
    sidecar.version = Version.current
    sidecar.backupPath = SidecarSettings.readBackupPath(&reader)
    sidecar.bundleID = gateway.bundleID
    sidecar.defaultEnvironment = gateway.defaultEnvironment == .sandbox ? .sandbox : .production
    let queues = SharedSettings.queues(&reader)
    sidecar.queue = queues.contains(sidecar.queue) ? sidecar.queue : queues[0]
    sidecar.readLimits(&reader)
    for part in Parts.all { part.add(to: &sidecar, &reader) }
    guard reader.faults.isEmpty else { throw ConfigurationFaults(reader.faults) }
  }

  private static func readOriginPolicy(_ reader: inout EnvironmentReader) -> OriginPolicy {
    var policy = OriginPolicy()
    policy.environment = reader.choice(.policyEnvironment)
    policy.allowedOrigins = reader.list(.allowedOrigins)
    policy.previewHostPrefixes = reader.list(.previewHostPrefixes)
    policy.trustedHostSuffixes = reader.list(.trustedHostSuffixes)
    for origin in policy.allowedOrigins where !OriginPolicy.isOrigin(origin) {
      reader.report(
        Setting.allowedOrigins.name, wrong: origin,
        expected: "https://host[:port] without a path, separated by commas")
    }
    return policy
  }

  private static func readBackupPath(_ reader: inout EnvironmentReader) -> String? {
    reader.value(.backup, expected: "the path of a backup.json") { path in
      // An import reads - from stdin.
      path != "-" && !path.contains("://") && !path.contains(where: \.isNewline) ? path : nil
    }
  }
}

extension SidecarConfiguration {
  /// Reads the request limits.
  fileprivate mutating func readLimits(_ reader: inout EnvironmentReader) {
    failureLimit = SharedSettings.failureLimit(&reader)
    registrationLimit = reader.limit(.registrationLimit)
    testLimit = reader.limit(.testLimit)
    broadcastLimit = reader.limit(.broadcastLimit)
  }
}
