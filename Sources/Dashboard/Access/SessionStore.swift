import Credentials
import Crypto
import EventLoop
import Redis

/// The sessions in Redis, by the digest of the sign-in that their ids name: what is stored signs nobody in.
@EventLoop
struct SessionStore {
  let connection: RedisClient

  /// Stores the session of a new sign-in. Returns its id.
  func add(_ credential: Credential, now: Int64) async throws(RedisError) -> SessionID {
    let id = SessionID()
    let session = Session(credential, id, at: now)
    _ = try await connection.send(
      StateScripts.replace(state: SessionStore.key(id), found: [], new: session.json, ttl: session.left(at: now)))
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
      StateScripts.replace(
        state: SessionStore.key(id), found: session.json, new: session.rotated(to: next, at: now).json,
        ttl: session.left(at: now)))
    return reply.integer == 1 ? next : nil
  }

  /// Ends the session, with all of its ids.
  func remove(_ id: SessionID) async throws(RedisError) {
    _ = try await connection.send(RedisCommand("DEL", SessionStore.key(id)))
  }

  /// | `martlet:{sessions}:<sha256 of the sign-in>` | string | 12 h from the sign-in | JSON of a
  /// [session](dashboard.md#access): `operator`, `digest` (of the operator's secret), `signedInAt`, `rotatedAt`, and the
  /// digests of its id (`current`) and of the one before (`previous`) |
  nonisolated static func key(_ id: SessionID) -> String { "martlet:{sessions}:" + SHA256.hex(id.signIn) }
}
