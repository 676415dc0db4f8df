import EventLoop
import Events
import Redis

/// The right of one worker of a fleet to send the webhook, and its state in Redis.
@EventLoop
struct WebhookLease {
  static let renewal = Duration.seconds(5)
  private static let timeToLive = Duration.seconds(15)

  let connection: RedisClient
  /// Unique.
  let holder: String

  /// The result of writing a state.
  enum Saving {
    case saved
    /// Another process may send now: the state is not written.
    case isAnothers
    /// Redis has another state than the one before, and keeps it.
    case isOutdated
  }

  /// Passes the stored state (JSON, empty if there is none) if this process may send for the next seconds, else nil.
  func renew(_ completion: @escaping @EventLoop (Result<[UInt8]?, RedisError>) -> Void) {
    let arguments = [holder, String(WebhookLease.timeToLive.milliseconds)]
    connection.run(WebhookLease.renewing, keys: [EventStream.sender, EventStream.webhook], arguments: arguments) {
      completion($0.map(\.bytes))
    }
  }

  /// Writes a state in the place of the stored state `before`.
  func save(
    _ state: [UInt8], over before: [UInt8], _ completion: @escaping @EventLoop (Result<Saving, RedisError>) -> Void
  ) {
    connection.call(
      WebhookLease.saving, keys: [EventStream.sender, EventStream.webhook],
      arguments: { command in
        command.append(holder)
        command.append(state)
        command.append(before)
      }
    ) { result in
      completion(result.map { $0.integer == 1 ? .saved : $0.integer == 0 ? .isAnothers : .isOutdated })
    }
  }

  /// Lets another process begin at once.
  func release() {
    connection.run(WebhookLease.releasing, keys: [EventStream.sender], arguments: [holder]) { _ in }
  }

  /// KEYS
  ///   1  the lease
  ///   2  the state
  /// ARGV
  ///   1  the holder
  ///   2  the TTL in ms
  /// Returns the state (empty: none), or false if another process holds the lease.
  private static let renewing = RedisScript(
    """
    local holder = redis.call('GET', KEYS[1])
    if holder and holder ~= ARGV[1] then return false end
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return redis.call('GET', KEYS[2]) or ''
    """)

  /// KEYS
  ///   1  the lease
  ///   2  the state
  /// ARGV
  ///   1  the holder
  ///   2  the new state, JSON
  ///   3  the state before; empty: none
  /// Returns 1, 0 if this is not the holder, or -1 if the state before is another: Redis has lost the latest ones.
  private static let saving = RedisScript(
    """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    local stored = redis.call('GET', KEYS[2]) or ''
    -- A command whose reply was lost is sent again.
    if stored ~= ARGV[3] and stored ~= ARGV[2] then return -1 end
    redis.call('PERSIST', KEYS[2])
    redis.call('SET', KEYS[2], ARGV[2])
    return 1
    """)

  /// KEYS
  ///   1  the lease
  /// ARGV
  ///   1  the holder
  /// Returns how many keys were removed.
  private static let releasing = RedisScript(
    """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('DEL', KEYS[1])
    """)
}
