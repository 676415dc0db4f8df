public import EventLoop
public import Redis

/// Sees to it that of a fleet one process brings in backup.json, and does so to its end, once.
///
/// An import that has begun is begun again by somebody else when its process died: whoever imports must be able to do so twice.
@EventLoop
public final class ImportClaim {
  /// What is to be done.
  public enum Decision: Sendable, Equatable {
    /// This process imports, and calls ``finish(isDone:)`` then.
    case granted
    /// Another process is at it.
    case busy
    /// Nothing was imported, and nothing needs to be: the app has devices.
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
  /// Milliseconds: longer than an import takes.
  private static let leaseMilliseconds = 600_000

  /// KEYS: the state, the lease. ARGV: whether the app has devices, who asks, milliseconds.
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

  /// KEYS as ``begin``. ARGV: who has the lease, whether everything was brought in. Who lost the lease changes nothing.
  private static let end = RedisScript(
    """
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
    redis.call('DEL', KEYS[2])
    if ARGV[2] == '1' then redis.call('SET', KEYS[1], 'done') end
    return 1
    """)

  private let connection: RedisConnection
  private let owner: String

  /// `owner` is this process's name, like no other's.
  public init(connection: RedisConnection, owner: String) {
    self.connection = connection
    self.owner = owner
    connection.preload([ImportClaim.begin, ImportClaim.end])
  }

  /// Asks for the import. An import that was begun is to be finished even though the app has devices by now.
  ///
  /// `granted` is called before any later question of this process is answered; tasks resume in no certain order.
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

  public func finish(isDone: Bool) async throws(RedisError) {
    _ = try await connection.run(
      ImportClaim.end, keys: ImportClaim.keys, arguments: [owner, isDone ? "1" : "0"])
  }
}
