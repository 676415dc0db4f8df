package import EventLoop
import Jobs
import JSON
package import Redis
package import Telemetry
import Worker

/// A setting whose file is read again on SIGHUP.
@EventLoop
package final class ServedSetting<Value: Equatable> {
  private let name: String
  private let values: [String: String]
  private let read: (inout EnvironmentReader) -> Value?
  private let use: @EventLoop (Value) -> Void
  private let log: Log
  private var current: Value?

  /// - Parameters:
  ///   - name: what is read, for the log.
  ///   - values: the environment of the process.
  ///   - use: makes the service use another value.
  package init(
    _ name: String, _ current: Value?, _ values: [String: String], log: Log,
    read: @escaping (inout EnvironmentReader) -> Value?, use: @escaping @EventLoop (Value) -> Void = { _ in }
  ) {
    self.name = name
    self.current = current
    self.values = values
    self.log = log
    self.read = read
    self.use = use
  }

  /// Reads the file again. With a fault what is in use stays.
  package func reload() {
    var reader = EnvironmentReader(values)
    let value = read(&reader)
    for fault in reader.faults {
      // Operator: Follow `fix`. `setting` names the file.
      log.error(
        "a file cannot be read again; what is in use stays",
        [
          "what": .init(name), "setting": .init(fault.place), "seen": .init(fault.seen),
          "fix": .init("expected \(fault.expected); then send SIGHUP again"),
        ])
    }
    guard reader.faults.isEmpty, let value else { return }
    let isChanged = value != current
    if isChanged { use(value) }
    current = value
    log.info("a file was read again", ["what": .init(name), "changed": .init(booleanLiteral: isChanged)])
  }
}

extension ServedSetting where Value == RedisEndpoint {
  /// The connection to Redis, whose files are read for each connection: SIGHUP tells whether they can be. Nil without a file.
  package static func redis(_ endpoint: RedisEndpoint?, _ values: [String: String], log: Log) -> ServedSetting? {
    guard RedisSettings.mayChange(EnvironmentReader(values)) else { return nil }
    return ServedSetting("redis", endpoint, values, log: log) { RedisSettings.read(&$0, isRequired: true) }
  }
}
