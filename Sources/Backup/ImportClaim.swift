public import EventLoop
public import Redis

/// Ensures that one process of the fleet imports backup.json once, completely.
///
/// Another process starts an import again if the process that began it died, so the import must be repeatable.
@EventLoop
public final class ImportClaim {
  /// The answer to a process that asks for the import.
  public enum Decision: Sendable, Equatable {
    /// This process imports, then calls ``finish(isDone:)``.
    case granted
    /// Another process imports now.
    case busy
    /// No import was begun, and none is needed because the app has devices.
    case unneeded
    case done

    init(_ reply: RedisValue) {
      self =
        switch reply.string {
        case "granted": .granted
        case "done": .done
        case "unneeded": .unneeded
        default: .busy
        }
    }
  }

  private static let keys = [BackupKeys.backupState, BackupKeys.backupLease]
  /// Longer than an import takes.
  private static let leaseMilliseconds = 600_000

  /// Takes the lease if there is something to import.
  ///
  /// KEYS
  ///   1  the state
  ///   2  the lease
  /// ARGV
  ///   1  1 if the app has devices, else 0
  ///   2  the name of this process
  ///   3  the duration of the lease, ms
  /// Returns the raw text of a ``Decision``.
  private static let begin = RedisScript(
    """
    local state = redis.call('GET', KEYS[1])
    if state == 'done' then return 'done' end
    if not state and ARGV[1] == '1' then return 'unneeded' end
    if redis.call('EXISTS', KEYS[2]) == 1 then return 'busy' end
    redis.call('SET', KEYS[1], 'begun')
    redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
    return 'granted'
    """)

  /// Gives up the lease, and records the end of the import. Changes nothing if another process has the lease.
  ///
  /// KEYS
  ///   1  the state
  ///   2  the lease
  /// ARGV
  ///   1  the name of this process
  ///   2  1 if the import is complete, else 0
  /// Returns 1, or 0 if this process does not have the lease.
  private static let end = RedisScript(
    """
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
    redis.call('DEL', KEYS[2])
    if ARGV[2] == '1' then redis.call('SET', KEYS[1], 'done') end
    return 1
    """)

  private let connection: RedisClient
  private let owner: String

  /// `owner` is the unique name of this process.
  public init(connection: RedisClient, owner: String) {
    self.connection = connection
    self.owner = owner
    connection.preload([ImportClaim.begin, ImportClaim.end])
  }

  /// Asks for the import. An import that was begun must be completed even if the app has devices now.
  ///
  /// `granted` is called before any later request of this process is answered. Tasks, in contrast, resume in any order.
  public func begin(
    hasDevices: Bool, granted: @escaping @EventLoop () -> Void
  ) async throws(RedisError) -> Decision {
    let arguments = [hasDevices ? "1" : "0", owner, String(ImportClaim.leaseMilliseconds)]
    let result = await withCheckedContinuation { continuation in
      connection.run(ImportClaim.begin, keys: ImportClaim.keys, arguments: arguments) { reply in
        let decision = reply.map(Decision.init)
        if decision == .success(.granted) { granted() }
        continuation.resume(returning: decision)
      }
    }
    return try result.get()
  }

  /// Gives up the import. `isDone` is whether all entries were imported.
  public func finish(isDone: Bool) async throws(RedisError) {
    _ = try await connection.run(
      ImportClaim.end, keys: ImportClaim.keys, arguments: [owner, isDone ? "1" : "0"])
  }
}

/// The Redis keys of the import of backup.json.
enum BackupKeys {
  /// A string: `begun` or `done`.
  static let backupState = "martlet:{backup}:state"

  /// A string with a TTL: the name of the process that imports now.
  static let backupLease = "martlet:{backup}:lease"
}
