import Crypto
import EventLoop
import Redis

/// The permission to see the payload of one job for some minutes. An operator gets it by an action, so it is in the audit
/// log who saw what; the address of the page alone shows nothing to anybody else.
@EventLoop
struct PayloadGrant {
  nonisolated static let queryItem = "reveal"
  /// Seconds.
  private static let lifetime = 300
  private static let maximumToken = 64

  let connection: RedisClient

  /// Returns the token of a new permission.
  func make(_ id: String, for operator: Operator) async throws(RedisError) -> String {
    let token = Secret.random()
    let command = RedisCommand("SET", PayloadGrant.key(token), PayloadGrant.value(id, `operator`), "EX")
    _ = try await connection.send(command.with(PayloadGrant.lifetime))
    return token
  }

  /// Whether a request has a permission for this job.
  func allows(_ request: PageRequest, _ id: String) async throws(RedisError) -> Bool {
    guard let token = request.query(PayloadGrant.queryItem), token.utf8.count <= PayloadGrant.maximumToken else {
      return false
    }
    let value = try await connection.send(RedisCommand("GET", PayloadGrant.key(token))).contents
    return value == Array(PayloadGrant.value(id, request.operator).utf8)
  }

  /// | `martlet:{reveals}:<digest>` | string | 5 minutes | the operator who may see the payload of a job, and its id; by
  /// the SHA-256 of a random word in the address of the page |
  nonisolated private static func key(_ token: String) -> String { "martlet:{reveals}:" + SHA256.hex(token) }

  nonisolated private static func value(_ id: String, _ operator: Operator) -> String { "\(`operator`.name) \(id)" }
}
