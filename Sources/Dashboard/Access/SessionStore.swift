import Credentials
import Crypto
import EventLoop
import Redis

/// The sessions in Redis, by the digest of the sign-in that their ids name: what is stored signs nobody in.
@EventLoop
struct SessionStore {
  /// KEYS
  ///   1  the session
  /// ARGV
  ///   1  the session, JSON
  ///   2  milliseconds to live
  /// PERSIST as the first write makes a full Redis accept the next one, so that an operator can sign in then.
  private static let store = RedisScript(
    """
    redis.call('PERSIST', KEYS[1])
    return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    """)

  /// KEYS
  ///   1  the session
  /// ARGV
  ///   1  the stored session
  ///   2  the session with another id
  ///   3  milliseconds to live
  /// Returns 1 if replaced, 0 if another request was faster or the session has ended. PERSIST changes nothing; as the first
  /// write it makes a full Redis accept the next one.
  private static let replace = RedisScript(
    """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    redis.call('PERSIST', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
    return 1
    """)

  let connection: RedisClient

  /// Stores the session of a new sign-in. Returns its id.
  func add(_ credential: Credential, now: Int64) async throws(RedisError) -> SessionID {
    let id = SessionID()
    let session = Session(credential, id, at: now)
    _ = try await connection.call(SessionStore.store, keys: [SessionStore.key(id)]) { command in
      command.append(session.json)
      command.append(session.left(at: now))
    }
    return id
  }

  /// Returns nil if there is no session of this sign-in. Whether the id is still one of it, the session decides.
  func read(_ id: SessionID) async throws(RedisError) -> Session? {
    try await connection.send(RedisCommand("GET", SessionStore.key(id))).contents.flatMap(Session.init(json:))
  }

  /// Gives the session another id, which is returned. The earlier one is accepted for a short time. Returns nil if a request
  /// at the same time has done so, or has ended the session.
  func rotate(_ session: Session, _ id: SessionID, now: Int64) async throws(RedisError) -> SessionID? {
    let next = id.rotated()
    let reply = try await connection.call(SessionStore.replace, keys: [SessionStore.key(id)]) { command in
      command.append(session.json)
      command.append(session.rotated(to: next, at: now).json)
      command.append(session.left(at: now))
    }
    return reply.integer == 1 ? next : nil
  }

  /// Ends the session, with all of its ids.
  func remove(_ id: SessionID) async throws(RedisError) {
    _ = try await connection.send(RedisCommand("DEL", SessionStore.key(id)))
  }

  nonisolated static func key(_ id: SessionID) -> String { "martlet:{sessions}:" + SHA256.hex(id.signIn) }
}
