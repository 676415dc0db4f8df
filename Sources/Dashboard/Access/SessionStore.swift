import Crypto
import EventLoop
import Redis

/// The sessions in Redis, by the digest of their ids: what is stored signs nobody in.
@EventLoop
struct SessionStore {
  let connection: RedisClient

  /// Stores a session under a new id, which is returned.
  func add(_ session: Session, now: Int64) async throws(RedisError) -> String {
    let id = Secret.random()
    try await write(session, id: id, milliseconds: session.left(at: now))
    return id
  }

  /// Returns nil if there is no such session.
  func read(_ id: String) async throws(RedisError) -> Session? {
    try await connection.send(RedisCommand("GET", key(id))).contents.flatMap(Session.init(json:))
  }

  /// Stores the session under a new id, which is returned. The earlier one is accepted for a short time.
  func rotate(_ session: Session, id: String, now: Int64) async throws(RedisError) -> String {
    var replaced = session
    replaced.isReplaced = true
    try await write(replaced, id: id, milliseconds: min(Session.overlap, session.left(at: now)))
    var next = session
    next.rotatedAt = now
    return try await add(next, now: now)
  }

  func remove(_ id: String) async throws(RedisError) {
    _ = try await connection.send(RedisCommand("DEL", key(id)))
  }

  private func write(_ session: Session, id: String, milliseconds: Int64) async throws(RedisError) {
    var command = RedisCommand("SET", key(id))
    command.append(session.json)
    command.append("PX")
    command.append(milliseconds)
    _ = try await connection.send(command)
  }

  private func key(_ id: String) -> String { "martlet:{sessions}:" + SHA256.hex(id) }
}
