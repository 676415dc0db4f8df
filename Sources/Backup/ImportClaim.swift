public import EventLoop
public import Redis

/// Ensures that one process of the fleet imports backup.json once, completely.
///
/// Another process starts an import again if the process that began it died, so the import must be repeatable.
@EventLoop
public final class ImportClaim {
  /// The answer to a process that asks for the import.
  public enum Decision: String, Sendable {
    /// This process imports, then calls ``finish(isDone:)``.
    case granted
    /// Another process imports now.
    case busy
    /// No import was begun, and none is needed because the app has devices.
    case unneeded
    case done
  }

  /// Longer than an import takes.
  private static let leaseMilliseconds = 600_000

  /// Takes the lease if there is something to import.
  ///
  /// `hasDevices`: 1 if the app has devices, else 0. `owner`: the name of this process. `ttl`: that of the lease, in ms.
  ///
  /// Returns the raw text of a ``Decision``.
  private static let beginScript = RedisScript(
    keys: ["state", "lease"], arguments: ["hasDevices", "owner", "ttl"],
    """
    local found = redis.call('GET', state)
    if found == 'done' then return 'done' end
    if not found and hasDevices == '1' then return 'unneeded' end
    if redis.call('EXISTS', lease) == 1 then return 'busy' end
    redis.call('SET', state, 'begun')
    redis.call('SET', lease, owner, 'PX', ttl)
    return 'granted'
    """)

  private static func begin(state: String, lease: String, hasDevices: Int, owner: String, ttl: Int) -> RedisCall {
    beginScript.call(keys: state, lease, arguments: hasDevices, owner, ttl)
  }

  /// Gives up the lease, and records the end of the import. Changes nothing if another process has the lease.
  ///
  /// `isDone`: 1 if the import is complete, else 0. Returns 1, or 0 if this process does not have the lease.
  private static let endScript = RedisScript(
    keys: ["state", "lease"], arguments: ["owner", "isDone"],
    """
    if redis.call('GET', lease) ~= owner then return 0 end
    redis.call('DEL', lease)
    if isDone == '1' then redis.call('SET', state, 'done') end
    return 1
    """)

  private static func end(state: String, lease: String, owner: String, isDone: Int) -> RedisCall {
    endScript.call(keys: state, lease, arguments: owner, isDone)
  }

  private let connection: RedisClient
  private let owner: String

  /// `owner` is the unique name of this process.
  public init(connection: RedisClient, owner: String) {
    self.connection = connection
    self.owner = owner
    connection.preload([ImportClaim.beginScript, ImportClaim.endScript])
  }

  /// Asks for the import. An import that was begun must be completed even if the app has devices now.
  ///
  /// `granted` is called before any later request of this process is answered. Tasks, in contrast, resume in any order.
  public func begin(
    hasDevices: Bool, granted: @escaping @EventLoop () -> Void
  ) async throws(RedisError) -> Decision {
    let call = ImportClaim.begin(
      state: BackupKeys.backupState, lease: BackupKeys.backupLease, hasDevices: hasDevices ? 1 : 0, owner: owner,
      ttl: ImportClaim.leaseMilliseconds)
    let result = await withCheckedContinuation { continuation in
      connection.send(call) { reply in
        let decision = reply.map { $0.string.flatMap(Decision.init) ?? .busy }
        if decision == .success(.granted) { granted() }
        continuation.resume(returning: decision)
      }
    }
    return try result.get()
  }

  /// Gives up the import. `isDone` is whether all entries were imported.
  public func finish(isDone: Bool) async throws(RedisError) {
    _ = try await connection.send(
      ImportClaim.end(
        state: BackupKeys.backupState, lease: BackupKeys.backupLease, owner: owner, isDone: isDone ? 1 : 0))
  }
}

/// The Redis keys of the import of backup.json.
enum BackupKeys {
  /// | `martlet:{backup}:state` | string | none | `begun` or `done`: the import of `MARTLET_PUSH_SERVER_BACKUP`. |
  static let backupState = "martlet:{backup}:state"

  /// | `martlet:{backup}:lease` | string | 10 minutes | the process that imports |
  static let backupLease = "martlet:{backup}:lease"
}
