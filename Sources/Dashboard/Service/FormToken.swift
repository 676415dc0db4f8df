import Crypto
import EventLoop
import Redis

/// Prevents a form from being carried out twice, after a reload or a double click: the first one that is sent takes the token.
@EventLoop
struct FormToken {
  nonisolated static let field = "form"
  /// How long a form is remembered that was sent. Milliseconds.
  private static let lifetime: Int64 = 86_400_000

  let connection: RedisClient

  /// Returns whether this form was not sent before. A form without a token, as a script sends it, is always new. `request`
  /// identifies the request.
  ///
  /// The forms of a page share a token, so the key is a digest of all that the form contains.
  func take(_ form: [(name: String, value: String)], for request: String) async throws(RedisError) -> Bool {
    guard let key = key(form) else { return true }
    let call = StateScripts.replace(state: key, found: [], new: Array(request.utf8), ttl: FormToken.lifetime)
    return try await connection.send(call).integer == 1
  }

  /// Allows the form to be sent again, because nothing was done, unless another request has taken it.
  func release(_ form: [(name: String, value: String)], of request: String) async {
    guard let key = key(form) else { return }
    // If this fails too, the operator loads the page anew.
    _ = try? await connection.send(DashboardScripts.releaseForm(form: key, request: request))
  }

  /// | `martlet:{forms}:<sha256>` | string | 24 h | a form of the dashboard that was sent, so that it is not carried out
  /// twice |
  private func key(_ form: [(name: String, value: String)]) -> String? {
    guard form.contains(where: { $0.name == FormToken.field && !$0.value.isEmpty }) else { return nil }
    let content = form.map { "\($0.name.utf8.count):\($0.name)\($0.value.utf8.count):\($0.value)" }.joined()
    return "martlet:{forms}:" + SHA256.hex(content)
  }
}
