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
    let call = WebhookLease.renewing(
      lease: WebhookKeys.sender, state: WebhookKeys.state, holder: holder, ttl: WebhookLease.timeToLive.milliseconds)
    connection.send(call) { completion($0.map(\.bytes)) }
  }

  /// Writes a state in the place of the stored state `before`.
  func save(
    _ state: [UInt8], over before: [UInt8], _ completion: @escaping @EventLoop (Result<Saving, RedisError>) -> Void
  ) {
    let call = WebhookLease.saving(
      lease: WebhookKeys.sender, state: WebhookKeys.state, holder: holder, new: state, before: before)
    connection.send(call) { result in
      completion(result.map { $0.integer == 1 ? .saved : $0.integer == 0 ? .isAnothers : .isOutdated })
    }
  }

  /// Lets another process begin at once.
  func release() {
    connection.send(WebhookLease.releasing(lease: WebhookKeys.sender, holder: holder)) { _ in }
  }

  /// `ttl`: that of the lease, in ms. Returns the state (empty: none), or false if another process holds the lease.
  private static let renewingScript = RedisScript(
    keys: ["lease", "state"], arguments: ["holder", "ttl"],
    """
    local found = redis.call('GET', lease)
    if found and found ~= holder then return false end
    local known = redis.call('GET', state) or ''
    redis.call('PEXPIRE', lease, ttl)
    redis.call('SET', lease, holder, 'PX', ttl)
    return known
    """)

  private static func renewing(lease: String, state: String, holder: String, ttl: Int64) -> RedisCall {
    renewingScript.call(keys: lease, state, arguments: holder, ttl)
  }

  /// `new`, `before`: the new state, and the one before, JSON; empty for none.
  ///
  /// Returns 1, 0 if this is not the holder, or -1 if the state before is another: Redis has lost the latest ones.
  private static let savingScript = RedisScript(
    keys: ["lease", "state"], arguments: ["holder", "new", "before"],
    """
    if redis.call('GET', lease) ~= holder then return 0 end
    local stored = redis.call('GET', state) or ''
    -- A command whose reply was lost is sent again.
    if stored ~= before and stored ~= new then return -1 end
    redis.call('PERSIST', state)
    redis.call('SET', state, new)
    return 1
    """)

  private static func saving(lease: String, state: String, holder: String, new: [UInt8], before: [UInt8]) -> RedisCall {
    savingScript.call(keys: lease, state, arguments: holder, new, before)
  }

  /// Returns how many keys were removed.
  private static let releasingScript = RedisScript(
    keys: ["lease"], arguments: ["holder"],
    """
    if redis.call('GET', lease) ~= holder then return 0 end
    return redis.call('DEL', lease)
    """)

  private static func releasing(lease: String, holder: String) -> RedisCall {
    releasingScript.call(keys: lease, arguments: holder)
  }
}

/// In the hash slot of `push:events`.
enum WebhookKeys {
  /// | `martlet:{push:events}:sender` | string | 15 s | the worker that sends the [webhook](events.md#webhook) |
  static let sender = "martlet:{push:events}:sender"

  /// ``WebhookState``:
  /// | `martlet:{push:events}:webhook` | string | none | JSON: `cursor` (id of the last event that the receiver has
  /// accepted), `position` (number of events up to it), `batch` (the one that is being sent: `first`, `last`, `count`),
  /// `delivered`, `lost`, `gap`, and while it fails `failure`: `since`, `attempts`, `nextAttemptAt`, `answer`, `paused` |
  static let state = "martlet:{push:events}:webhook"
}
