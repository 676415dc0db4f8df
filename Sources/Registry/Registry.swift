public import EventLoop
public import Redis
public import Telemetry

/// Who owns which device. Everything is in redis; only which users have a large set is remembered.
@EventLoop
public final class Registry {
  /// Seconds; a year from the last registration.
  package static let metadataLifetime = 31_536_000

  /// Keys and entries of one command or script.
  static let maximumBatch = 300

  /// Others that change the same token or the same user's devices at the same moment; each try reads what the last one left.
  package static let maximumConflicts = 32

  /// After so many lost tries a token is taken whoever has it by then, and its former places are cleaned afterwards.
  static let politeAttempts = 8

  /// What ``maximumDevices`` may be.
  public nonisolated static let deviceLimits = 1...1000
  public nonisolated static let defaultMaximumDevices = 100

  /// Of one user.
  public let maximumDevices: Int

  package let connection: RedisConnection
  let log: Log
  var largeUsers = LargeUsers()

  public init(connection: RedisConnection, maximumDevices: Int = Registry.defaultMaximumDevices, log: Log) {
    self.connection = connection
    self.maximumDevices = maximumDevices
    self.log = log
    connection.preload(RegistryScripts.all)
  }
}
