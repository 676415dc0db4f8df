import Credentials
import Crypto
import EventLoop
import Redis

/// The sessions in Redis, by the digest of the sign-in that their ids name: what is stored signs nobody in.
@EventLoop
struct SessionStore {
  /// `json`, `ttl`: the session and its TTL in ms. PERSIST as the first write makes a full Redis accept the next one, so that
  /// an operator can sign in then.
  private static let store = RedisScript(
    keys: ["session"], arguments: ["json", "ttl"],
    """
    redis.call('PERSIST', session)
    return redis.call('SET', session, json, 'PX', ttl)
    """)

  /// `stored`, `new`, `ttl`: the stored session, the one with another id, and its TTL in ms.
  ///
  /// Returns 1 if replaced, 0 if another request was faster or the session has ended. PERSIST changes nothing; as the first
  /// write it makes a full Redis accept the next one.
  private static let replace = RedisScript(
    keys: ["session"], arguments: ["stored", "new", "ttl"],
    """
    if redis.call('GET', session) ~= stored then return 0 end
    redis.call('PERSIST', session)
    redis.call('SET', session, new, 'PX', ttl)
    return 1
    """)

  let connection: RedisClient

  /// Stores the session of a new sign-in. Returns its id.
  func add(_ credential: Credential, now: Int64) async throws(RedisError) -> SessionID {
    let id = SessionID()
    let session = Session(credential, id, at: now)
    _ = try await connection.send(
      SessionStore.store(session: SessionStore.key(id), json: session.json, ttl: session.left(at: now)))
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
    let reply = try await connection.send(
      SessionStore.replace(
        session: SessionStore.key(id), stored: session.json, new: session.rotated(to: next, at: now).json,
        ttl: session.left(at: now)))
    return reply.integer == 1 ? next : nil
  }

  /// Ends the session, with all of its ids.
  func remove(_ id: SessionID) async throws(RedisError) {
    _ = try await connection.send(RedisCommand("DEL", SessionStore.key(id)))
  }

  nonisolated static func key(_ id: SessionID) -> String { "martlet:{sessions}:" + SHA256.hex(id.signIn) }
}
