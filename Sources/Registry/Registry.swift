public import EventLoop
public import Events
public import Redis
public import Telemetry

/// The devices of users, apps and instances, stored in Redis. Only which users have a large set is kept in memory.
@EventLoop
public final class Registry {
  /// Seconds: one year from the last registration.
  package static let metadataLifetime = 31_536_000

  /// Maximum keys or entries of one command or script.
  nonisolated static let maximumBatch = 300

  /// Attempts while others change the same token or the same user's devices; each attempt reads the changes of the one
  /// before.
  package nonisolated static let maximumConflicts = 32

  /// After this many conflicts, a token is taken from its current owner; the other sets are cleaned later.
  nonisolated static let politeAttempts = 8

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

  /// Set if the keys of a device can be in several hash slots, so that no script may change all of them.
  let steps: StepRunner?

  /// Whether Redis reads a set together with the metadata of its entries.
  var sorts: Bool

  /// Whether a script may have the keys of one device or instance only.
  package var isStepwise: Bool { steps != nil }

  /// When this process last looked for changes that others had begun.
  var repairedAt: ContinuousClock.Instant?

  /// `sorts` is whether the devices of a user are read with one command instead of two, if Redis allows it. It does only to
  /// users who may read every key.
  public convenience init(
    connection: RedisClient, maximumDevices: Int = Registry.defaultMaximumDevices, sorts: Bool = false,
    events: EventLog? = nil, log: Log
  ) {
    self.init(
      connection: connection, maximumDevices: maximumDevices, isStepwise: connection.isCluster, sorts: sorts,
      events: events, log: log)
  }

  /// `isStepwise` is whether devices are changed in steps, which works on one server too.
  package init(
    connection: RedisClient, maximumDevices: Int, isStepwise: Bool, sorts: Bool = true, events: EventLog? = nil,
    log: Log
  ) {
    self.connection = connection
    self.maximumDevices = maximumDevices
    self.events = events
    self.log = log
    self.sorts = sorts && !isStepwise
    steps = isStepwise ? StepRunner(connection: connection, events: events) : nil
    let scripts = RegistryScripts.eventful.map { events == nil ? $0.plain : $0.emitting }
    connection.preload(isStepwise ? RegistryScripts.ofOneSlot : scripts + [RegistryScripts.cleanAudience])
  }

  /// Calls a script, which makes events if this registry writes events and the stream is on the server of all keys.
  func call(
    _ script: EventfulScript, keys: [String], arguments: @escaping (inout RedisCommand) -> Void,
    _ completion: @escaping RedisClient.Completion
  ) {
    guard let events, !isStepwise else {
      return connection.call(script.plain, keys: keys, arguments: arguments, completion)
    }
    events.call(script, keys: keys, arguments: arguments, completion)
  }

  func call(
    _ script: EventfulScript, keys: [String], arguments: @escaping (inout RedisCommand) -> Void
  ) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      call(script, keys: keys, arguments: arguments) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  func run(_ script: EventfulScript, keys: [String], arguments: [String]) async throws(RedisError) -> RedisValue {
    try await call(script, keys: keys) { command in
      for argument in arguments { command.append(argument) }
    }
  }
}
