public import EventLoop
import JSON
public import Redis

/// Notes when credentials were last used: at most once a minute for each, without waiting for Redis.
@EventLoop
public final class LastUses {
  private struct Key: Hashable {
    let kind: Credential.Kind
    /// ``Credential/useKey``
    let name: String
  }

  /// Milliseconds between two notes of a credential.
  private static let interval: Int64 = 60_000
  /// Credentials that are remembered. Beyond it all are forgotten, and noted again when they are used.
  private static let capacity = 10_000

  private let connection: RedisClient
  private var noted: [Key: Int64] = [:]

  public init(connection: RedisClient) {
    self.connection = connection
  }

  /// Notes that a credential is used now. A failure is ignored: the next use is noted again.
  public func record(_ credential: Credential) {
    let now = Clock.unixMilliseconds
    let key = Key(kind: credential.kind, name: credential.useKey)
    if let last = noted[key], now - last < LastUses.interval { return }
    if noted.count >= LastUses.capacity { noted = [:] }
    noted[key] = now
    connection.send(RedisCommand("HSET", CredentialKeys.lastUses(key.kind), key.name, String(now))) { _ in }
  }

  /// Returns when these credentials of a kind were last used, in unix milliseconds by ``Credential/useKey``.
  public func read(
    _ kind: Credential.Kind, _ credentials: [Credential]
  ) async throws(RedisError) -> [String: Int64] {
    guard !credentials.isEmpty else { return [:] }
    let names = credentials.map(\.useKey)
    let command = RedisCommand("HMGET", [CredentialKeys.lastUses(kind)] + names)
    let values = try await connection.send(command).array ?? []
    var uses: [String: Int64] = [:]
    for (name, value) in zip(names, values) { uses[name] = value.string?.integer(in: NumberRange.times) }
    return uses
  }
}
