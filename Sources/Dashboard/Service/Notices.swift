import Crypto
import EventLoop
import JSON
import Redis

/// Flash messages: each is shown once, on the page after an action. They wait in Redis, so that they need no cookie and no script.
@EventLoop
struct Notices {
  /// The item of a query that names the notice.
  nonisolated static let queryItem = "notice"
  /// Seconds.
  private static let lifetime = 300
  private static let maximumID = 64

  let connection: RedisClient

  /// Keeps the outcome of an action. Returns its id.
  func add(_ outcome: ActionOutcome) async throws(RedisError) -> String {
    let id = Secret.random()
    let value: JSONObject = ["kind": outcome.kind.rawValue, "message": outcome.message]
    _ = try await connection.send(RedisCommand("SET", key(id)).with(value.bytes).with("EX").with(Notices.lifetime))
    return id
  }

  /// Removes and returns a notice; nil if there is none, or if it was shown already.
  func take(_ id: String) async throws(RedisError) -> ActionOutcome? {
    guard id.utf8.count <= Notices.maximumID else { return nil }
    guard let bytes = try await connection.send(RedisCommand("GET", key(id))).contents else { return nil }
    _ = try await connection.send(RedisCommand("DEL", key(id)))
    guard let value = try? JSONValue(parsing: bytes), let message = value["message"]?.string else { return nil }
    return value["kind"]?.string == ActionOutcome.Kind.done.rawValue ? .done(message) : .refused(message)
  }

  /// | `martlet:{notices}:<id>` | string | 5 min | JSON: what an action did, for the page that follows it |
  private func key(_ id: String) -> String { "martlet:{notices}:" + id }
}
