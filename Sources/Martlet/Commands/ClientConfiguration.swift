import Worker
import EventLoop
import Redis
import Telemetry

/// What the commands that only talk to Redis need to know.
struct ClientConfiguration {
  var redis: RedisEndpoint
  var queues: [String]

  /// `readMore` reads what the command needs beside it, so that its faults are reported, too.
  init(
    environment values: [String: String], readMore: (inout EnvironmentReader) -> Void = { _ in }
  ) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(values)
    let redis = RedisSettings.read(&reader, isRequired: true)
    queues = WorkerConfiguration.readQueues(&reader)
    readMore(&reader)
    guard reader.faults.isEmpty, let redis else { throw ConfigurationFaults(reader.faults) }
    self.redis = redis
  }

  /// Runs `body` with a connection to Redis.
  @EventLoop
  func withConnection<Value: Sendable>(_ body: @EventLoop (RedisConnection) async throws -> Value) async throws -> Value
  {
    let connection = RedisConnection(endpoint: redis, name: "martlet", log: .silent)
    connection.start()
    defer { connection.close() }
    do {
      try await connection.ready(within: .seconds(5))
      return try await body(connection)
    } catch let error as RedisError {
      throw CommandFailure(message: "Redis (\(redis.summary)): \(error)")
    }
  }
}
