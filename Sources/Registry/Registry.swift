public import EventLoop
public import Redis
public import Telemetry

/// Who owns which device. Stateless: everything is in redis.
@EventLoop
public final class Registry {
  /// Seconds; a year from the last registration.
  static let metadataLifetime = 31_536_000

  /// Keys and entries of one command or script.
  static let maximumBatch = 300

  /// Others that change the same token at the same moment; each try reads what the last one left.
  static let maximumConflicts = 32

  let connection: RedisConnection
  let log: Log

  public init(connection: RedisConnection, log: Log) {
    self.connection = connection
    self.log = log
    connection.preload(RegistryScripts.all + BackupScripts.all)
  }
}
