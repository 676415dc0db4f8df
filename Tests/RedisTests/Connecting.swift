import EventLoop
import Redis
import TestSupport
import Telemetry

extension RedisConnection {
  /// Starts a connection without waiting for it.
  static func started(
    _ url: String, ca: String? = nil, timeout: Duration = patience, log: Log = .silent
  ) throws -> RedisConnection {
    let endpoint = try RedisEndpoint(url: url, caCertificatePEM: ca)
    let connection = RedisConnection(endpoint: endpoint, name: "martlet", timeout: timeout, log: log)
    connection.start()
    return connection
  }

  static func ready(
    _ url: String, ca: String? = nil, timeout: Duration = patience, log: Log = .silent
  ) async throws -> RedisConnection {
    let connection = try started(url, ca: ca, timeout: timeout, log: log)
    try await connection.ready(within: patience)
    return connection
  }

  /// Waits until the reason why the connection is not ready contains `words`, and returns the reason.
  func refusal(containing words: String) async throws -> String {
    var description = ""
    try await eventually("the reason contains: \(words)") {
      do throws(RedisError) {
        try await ready(within: .zero)
      } catch {
        description = error.description
      }
      return description.contains(words)
    }
    return description
  }
}

// Variants that wait for the reply.
extension RedisConnection {
  func send(_ command: RedisCommand, timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(command, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  func send(_ call: RedisCall) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(call) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }
}
