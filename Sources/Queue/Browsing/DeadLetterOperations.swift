public import EventLoop
public import Redis

/// The operations on dead letters of a fleet: the latest ones, in one hash.
@EventLoop
public struct DeadLetterOperations {
  /// Operations that are kept; a new one removes the oldest.
  static let maximumKept = 20
  private static let timeToLive = Duration.seconds(7 * 24 * 3600)

  /// Hash of the operations, JSON, by id; under `<id>:stop`, that somebody wants it to stop.
  public static let key = "martlet:{operations}:dead"

  private let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
  }

  /// What the process that does an operation learns when it stores it.
  public enum Order: Sendable, Equatable {
    case goOn, stop
    /// Another process has continued it, or it was removed.
    case leave
  }

  /// Stores an operation. `previousOwner` is the process that did it before, if another one continues it.
  public func save(
    _ operation: DeadLetterOperation, previousOwner: String? = nil, isNew: Bool = false
  ) async throws(RedisError) -> Order {
    let answer = try await connection.call(DeadLetterOperations.save, keys: [DeadLetterOperations.key]) { command in
      command.append(operation.id)
      command.append(operation.json())
      command.append(isNew ? "" : previousOwner ?? operation.owner)
      command.append(DeadLetterOperations.timeToLive.milliseconds)
      command.append(previousOwner == nil ? "" : "continue")
    }
    return switch answer.integer {
    case 1: .goOn
    case 0: .stop
    default: .leave
    }
  }

  /// The kept operations, the latest first.
  public func list() async throws(RedisError) -> [DeadLetterOperation] {
    let fields = try await connection.send(RedisCommand("HGETALL", DeadLetterOperations.key)).array ?? []
    return fields.compactMap { $0.bytes.flatMap(DeadLetterOperation.init(json:)) }
      .sorted { $0.startedAt > $1.startedAt }
  }

  /// Returns nil if it is not kept.
  public func operation(_ id: String) async throws(RedisError) -> DeadLetterOperation? {
    let value = try await connection.send(RedisCommand("HGET", DeadLetterOperations.key, id))
    return value.bytes.flatMap(DeadLetterOperation.init(json:))
  }

  /// Has an operation stop after its present page.
  public func stop(_ id: String) async throws(RedisError) {
    _ = try await connection.send(RedisCommand("HSET", DeadLetterOperations.key, id + ":stop", "1"))
  }

  /// Removes the oldest operations, so that there is room for another one.
  public func makeRoom() async throws(RedisError) {
    for operation in try await list().dropFirst(DeadLetterOperations.maximumKept - 1) {
      _ = try await connection.send(
        RedisCommand("HDEL", DeadLetterOperations.key, operation.id, operation.id + ":stop"))
    }
  }

  /// Stores an operation, if its process still does it.
  ///
  /// KEYS
  ///   1  the operations
  /// ARGV
  ///   1  its id
  ///   2  the operation, JSON
  ///   3  the process that does it, or did it before; empty for a new one
  ///   4  the TTL of all operations in ms
  ///   5  `continue` if another process continues it, else empty
  /// Returns 1; 0 if it is to stop; -1 if another process does it, or if it was removed.
  private static let save = RedisScript(
    """
    if ARGV[3] ~= '' then
      local stored = redis.call('HGET', KEYS[1], ARGV[1])
      if not stored or cjson.decode(stored).owner ~= ARGV[3] then return -1 end
    end
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    if ARGV[5] == 'continue' then redis.call('HDEL', KEYS[1], ARGV[1] .. ':stop') end
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    if redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':stop') == 1 then return 0 end
    return 1
    """)
}
