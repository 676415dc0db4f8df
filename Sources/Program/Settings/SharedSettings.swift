package import Credentials
package import Usage
import EventLoop
import HTTPServer
import Jobs
package import Redis
import Registry
import Telemetry
import Worker

/// The settings that several programs read.
package enum SharedSettings {
  /// The rule for names of queues, for errors.
  package static let queueNameRule =
    "1 to 128 bytes without spaces, braces and control characters, and not beginning with a key of Martlet's own ("
    + JobDraft.reservedPrefixes.joined(separator: ", ") + ")"

  /// `MARTLET_QUEUES`
  package static func queues(_ reader: inout EnvironmentReader) -> [String] {
    guard let value = reader.text(.queues) else { return WorkerConfiguration.defaultQueues }
    let queues = value.split(separator: ",", omittingEmptySubsequences: false).map {
      EnvironmentReader.trimmed($0) ?? ""
    }
    guard queues.count <= 16, Set(queues).count == queues.count, queues.allSatisfy(isQueueName) else {
      reader.report(
        Setting.queues.name, wrong: value,
        expected: "1 to 16 different list names separated by commas, the first is served first; each \(queueNameRule)")
      return WorkerConfiguration.defaultQueues
    }
    return queues
  }

  /// Returns whether a list with this name can be a queue. The names of its keys contain it between braces.
  package static func isQueueName(_ name: String) -> Bool {
    (1...128).contains(name.utf8.count)
      && !name.unicodeScalars.contains {
        " {}".unicodeScalars.contains($0) || $0.properties.generalCategory == .control
      }
      && !JobDraft.reservedPrefixes.contains(where: name.hasPrefix)
  }

  /// `MARTLET_AUTH_FAILURE_LIMIT`. Nil if it is off.
  package static func failureLimit(_ reader: inout EnvironmentReader) -> WindowLimit? {
    reader.limit(.failureLimit)
  }

  /// `MARTLET_MAX_DEVICES`: the maximum number of devices of a user in one app.
  package static func maximumDevices(_ reader: inout EnvironmentReader) -> Int {
    reader.integer(.maximumDevices)
  }
}

/// The settings of commands that use Redis and run no service.
package struct ClientConfiguration {
  package var redis: RedisEndpoint
  package var queues: [String]

  /// `readMore` reads further settings of the command, so that all faults are reported together.
  package init(
    _ environment: ProcessEnvironment,
    readMore: (inout EnvironmentReader) -> Void = { _ in }
  ) throws(ConfigurationFaults) {
    var reader = EnvironmentReader(environment)
    let redis = RedisSettings.read(&reader, isRequired: true)
    queues = SharedSettings.queues(&reader)
    readMore(&reader)
    guard reader.faults.isEmpty, let redis else { throw ConfigurationFaults(reader.faults) }
    self.redis = redis
  }

  /// Returns the queue of --queue, or those of the settings.
  package func queues(of line: CommandLineWords) throws(CommandError) -> [String] {
    try line.queue().map { [$0] } ?? queues
  }

  /// Calls `body` with a connection to Redis.
  @EventLoop
  package func withConnection<Value: Sendable>(_ body: @EventLoop (RedisClient) async throws -> Value) async throws
    -> Value
  {
    let connection = RedisClient(endpoint: redis, name: "martlet", log: .silent)
    connection.start()
    defer { connection.close() }
    do {
      try await connection.ready(within: .seconds(5))
      return try await body(connection)
    } catch let error as RedisError {
      throw CommandError.failed("Redis (\(redis.summary)): \(error)")
    }
  }
}
