import EventLoop
package import Redis
package import Telemetry
import TestSupport

extension RedisClient {
  /// Connects as programs do, and waits until commands can be sent.
  package static func connected(
    to url: String, name: String = "test", _ scripts: [RedisScript] = [], log: Log = .silent
  ) async throws -> RedisClient {
    let client = RedisClient(endpoint: try RedisEndpoint(url: url), name: name, timeout: patience, log: log)
    client.preload(scripts)
    client.start()
    try await client.ready(within: patience)
    return client
  }
}
