import Credentials
import EventLoop
import HTTPServer
import Redis
import Registry

/// Who calls, by `X-API-Key`.
@EventLoop
struct APIKeyCheck {
  let access: Access

  /// 401 unless exactly one key was sent, and it is known and enabled; 403 when it is not meant for `scope`; 429 when the
  /// client has sent too many wrong ones.
  func credential(of request: SidecarRequest, for scope: KeyScope) async throws(Refusal) -> Credential {
    let unauthorized = Refusal(401, "Unauthorized", "Send a valid API key in the header X-API-Key, once")
    guard request.http.headers["X-API-Key"] != nil else { throw unauthorized }
    let found: Credential
    switch try await check(request.http) {
    case .known(let credential): found = credential
    case .unknown: throw unauthorized
    case .blocked(let seconds):
      throw .tooManyRequests("too many wrong API keys came from this address", after: seconds)
    }
    guard found.scopes.contains(scope) else {
      throw Refusal(403, "Forbidden", "This API key has no scope \"\(scope.rawValue)\"")
    }
    return found
  }

  private func check(_ request: HTTPRequest) async throws(Refusal) -> FailureLimit.Outcome<Credential> {
    let secret = request.headers.secret("X-API-Key")
    do {
      return try await access.failures.check(.key, "", of: request) { () async throws(RedisError) -> Credential? in
        guard let secret, let found = try await access.credentials.find(.key, secret: secret) else { return nil }
        return found.isEnabled ? found : nil
      }
    } catch { throw Refusal(error) }
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
