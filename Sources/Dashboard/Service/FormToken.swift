import Crypto
import EventLoop
import Redis

/// Prevents a form from being carried out twice, after a reload or a double click: the first one that is sent takes the token.
@EventLoop
struct FormToken {
  nonisolated static let field = "form"
  /// KEYS
  ///   1  the form
  /// ARGV
  ///   1  how long it is remembered, seconds
  ///   2  identifies the request
  /// Returns 1 if the form is new. PERSIST as the first write makes a full Redis accept the next one, so that dead letters can
  /// be purged then.
  private static let taking = RedisScript(
    """
    if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
    redis.call('PERSIST', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[1])
    return 1
    """)
  /// KEYS
  ///   1  the form
  /// ARGV
  ///   1  identifies the request that took it
  private static let releasing = RedisScript(
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
  /// How long a form is remembered that was sent. Seconds.
  private static let lifetime = 86_400

  let connection: RedisClient

  /// Returns whether this form was not sent before. A form without a token, as a script sends it, is always new. `request`
  /// identifies the request.
  ///
  /// The forms of a page share a token, so the key is a digest of all that the form contains.
  func take(_ form: [(name: String, value: String)], for request: String) async throws(RedisError) -> Bool {
    guard let key = key(form) else { return true }
    let arguments = [String(FormToken.lifetime), request]
    return try await connection.run(FormToken.taking, keys: [key], arguments: arguments).integer == 1
  }

  /// Allows the form to be sent again, because nothing was done, unless another request has taken it.
  func release(_ form: [(name: String, value: String)], of request: String) async {
    guard let key = key(form) else { return }
    // If this fails too, the operator loads the page anew.
    _ = try? await connection.run(FormToken.releasing, keys: [key], arguments: [request])
  }

  private func key(_ form: [(name: String, value: String)]) -> String? {
    guard form.contains(where: { $0.name == FormToken.field && !$0.value.isEmpty }) else { return nil }
    let content = form.map { "\($0.name.utf8.count):\($0.name)\($0.value.utf8.count):\($0.value)" }.joined()
    return "martlet:{forms}:" + SHA256.hex(content)
  }
}
