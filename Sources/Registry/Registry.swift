public import EventLoop
public import Events
public import Redis
public import Telemetry

/// The devices of users, apps and instances, stored in Redis. Only which users have a large set is kept in memory.
@EventLoop
public final class Registry {
  /// Maximum keys or entries of one command or script.
  nonisolated static let maximumBatch = 300

  /// Update tokens of one Live Activity, at most. More phones are reached by a channel.
  public nonisolated static let maximumActivityTokens = 1000
  /// Of them, those of one user, at most.
  public nonisolated static let maximumActivityTokensOfUser = 10

  /// Attempts while others change the same token or the same user's devices; each attempt decides on the changes of the
  /// one before.
  package nonisolated static let maximumConflicts = 32

  /// Valid values of ``maximumDevices``.
  public nonisolated static let deviceLimits = 1...1000
  public nonisolated static let defaultMaximumDevices = 100

  /// Maximum number of devices of one user in one app. Those without an app count as of one.
  public let maximumDevices: Int

  package let connection: RedisClient
  let log: Log
  /// Nil if no events are written.
  let events: EventLog?
  var largeUsers = LargeUsers()
  /// Large sets are read one at a time.
  let largeReadings = KeyedMutex()

  /// Changes devices as the kind of server allows.
  let executor: any DeviceExecutor
  let instances: InstanceExecutor
  let reader: DeviceReader

  public convenience init(
    connection: RedisClient, maximumDevices: Int = Registry.defaultMaximumDevices, events: EventLog? = nil, log: Log
  ) {
    self.init(
      connection: connection, maximumDevices: maximumDevices, isStepwise: connection.isCluster, events: events, log: log
    )
  }

  /// `isStepwise` is whether devices are changed in steps, which works on one server too.
  package init(
    connection: RedisClient, maximumDevices: Int, isStepwise: Bool, events: EventLog? = nil,
    log: Log
  ) {
    self.connection = connection
    self.maximumDevices = maximumDevices
    self.events = events
    self.log = log
    connection.preload([RegistryScripts.keepRefusalScript, RegistryScripts.keepGoneScript])
    reader = DeviceReader(connection: connection)
    instances = InstanceExecutor(connection, events: events, isCluster: isStepwise)
    executor =
      isStepwise
      ? ClusterExecutor(connection: connection, maximumDevices: maximumDevices, events: events, log: log)
      : OneServerExecutor(connection: connection, maximumDevices: maximumDevices, events: events)
  }
}
