import EventLoop
import Redis
import Telemetry

extension RedisConnection {
  /// Started, not waited for.
  static func started(
    _ url: String, ca: String? = nil, timeout: Duration = .seconds(20), log: Log = .silent
  ) throws -> RedisConnection {
    let endpoint = try RedisEndpoint(url: url, caCertificatePEM: ca)
    let connection = RedisConnection(endpoint: endpoint, name: "martlet", timeout: timeout, log: log)
    connection.start()
    return connection
  }

  static func ready(
    _ url: String, ca: String? = nil, timeout: Duration = .seconds(20), log: Log = .silent
  ) async throws -> RedisConnection {
    let connection = try started(url, ca: ca, timeout: timeout, log: log)
    try await connection.ready(within: .seconds(20))
    return connection
  }
}
