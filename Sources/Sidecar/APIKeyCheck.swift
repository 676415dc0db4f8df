import EventLoop
import HTTPServer
import Redis
import Registry

/// Who calls, by `X-API-Key`.
@EventLoop
struct APIKeyCheck {
  let credentials: Credentials

  /// 401 unless exactly one key was sent, and it is known and enabled; 403 when it is not meant for `scope`.
  func credential(of request: SidecarRequest, for scope: KeyScope) async throws(Refusal) -> Credential {
    let unauthorized = Refusal(401, "Unauthorized", "Send a valid API key in the header X-API-Key, once")
    guard let secret = request.http.headers.secret("X-API-Key") else { throw unauthorized }
    let found: Credential?
    do { found = try await credentials.find(.key, secret: secret) } catch { throw Refusal(error) }
    guard let found, found.isEnabled else { throw unauthorized }
    guard found.scopes.contains(scope) else {
      throw Refusal(403, "Forbidden", "This API key has no scope \"\(scope.rawValue)\"")
    }
    return found
  }
}

extension HTTPHeaders {
  /// More cannot be one of ours, and is not hashed.
  private static let maximumSecretBytes = 512

  /// The value of a field that has to be there exactly once.
  func secret(_ name: String) -> String? {
    let values = values(of: name)
    guard values.count == 1, (1...HTTPHeaders.maximumSecretBytes).contains(values[0].utf8.count) else { return nil }
    return values[0]
  }
}
