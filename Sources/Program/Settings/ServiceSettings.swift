package import HTTPServer
package import Redis
package import Telemetry

/// The settings that every service reads.
package struct ServiceSettings {
  /// Nil if Redis is not configured.
  package let redis: RedisEndpoint?
  /// Whether `MARTLET_EVENTS` asks for events. A part may need them, too.
  package let writesEvents: Bool
  /// Of a service that runs alone, and of `martlet all` the worker's. Nil if it is off.
  package let adminAddress: HTTPAddress?
  package let shutdownGrace: Duration
  package let logLevel: LogLevel

  /// - Parameter adminAddress: the default.
  package init(_ reader: inout EnvironmentReader, adminAddress: HTTPAddress, isRedisRequired: Bool = true) {
    redis = RedisSettings.read(&reader, isRequired: isRedisRequired)
    writesEvents = reader.choice(.events) as EventDestination == .stream
    self.adminAddress = ServiceSettings.adminAddress(&reader, default: adminAddress)
    shutdownGrace = reader.duration(.shutdownGrace)
    let level = reader.value(.logLevel, expected: "one of error, warn, info, debug") { LogLevel($0.lowercased()) }
    logLevel = level ?? .info
  }

  /// `MARTLET_ADMIN_ADDRESS`. Nil if it is off.
  private static func adminAddress(_ reader: inout EnvironmentReader, default fallback: HTTPAddress) -> HTTPAddress? {
    if reader.text(.adminAddress) == "0" { return .loopback(port: 0) }
    return reader.addressOrOff(.adminAddress, default: fallback)
  }
}

private enum EventDestination: String, CaseIterable { case stream, off }

/// The settings of a service's HTTP server: the address, `MARTLET_HTTP_CERT`, `MARTLET_HTTP_KEY`, `MARTLET_TRUSTED_PROXIES`.
package struct ListenerSettings {
  /// Nil without TLS.
  package let certificateFiles: CertificateFiles?
  package let listener: HTTPServerConfiguration

  package init(_ reader: inout EnvironmentReader, address: HTTPAddress) {
    let pair = CertificateFiles.read(&reader)
    certificateFiles = pair?.files
    var listener = HTTPServerConfiguration(address: address)
    listener.certificate = pair?.certificate
    for proxy in reader.list(.trustedProxies) where !listener.trustedProxies.add(proxy) {
      reader.report(Setting.trustedProxies.name, wrong: proxy, expected: TrustedProxies.expected)
    }
    self.listener = listener
  }
}
