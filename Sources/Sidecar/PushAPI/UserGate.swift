import Credentials
import EventLoop
import HTTPServer
import Redis
import Registry

/// What stands before every route of a user, in this order: origin, method, credentials there, redis configured, credentials
/// right. docs/http/push-api.md.
@EventLoop
struct UserGate {
  typealias Work = @EventLoop (_ username: String, _ backend: Backend) async throws(RedisError) -> HTTPResponse

  let crossOrigin: CrossOrigin
  let backend: Backend?
  let access: Access?
  let missingRedisVariables: [String]
  let failures: FailedRequestLog

  init(
    _ configuration: SidecarConfiguration, method: String, backend: Backend?, access: Access?,
    failures: FailedRequestLog
  ) {
    crossOrigin = CrossOrigin(policy: configuration.originPolicy, method: method)
    self.backend = backend
    self.access = access
    missingRedisVariables = configuration.missingRedisVariables
    self.failures = failures
  }

  /// `work` is done for users who are who they say.
  func respond(to request: SidecarRequest, _ work: Work) async -> HTTPResponse {
    switch crossOrigin.judge(request.http) {
    case .answered(let response): return response
    case .admitted(let fields): return await answer(request, work).with(fields)
    }
  }

  /// The answer to a request that the server refused, unless its origin or method is refused already.
  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    switch crossOrigin.judge(request) {
    case .answered(let response): response
    case .admitted(let fields): HTTPResponse.refusal(status).with(fields)
    }
  }

  private func answer(_ request: SidecarRequest, _ work: Work) async -> HTTPResponse {
    let credentials = BearerCredentials(request.http.headers)
    if credentials == .missing { return .error("Unauthorized - missing credentials", status: 401) }
    guard let backend, let access else { return .notConfigured("Redis", missing: missingRedisVariables) }
    do {
      switch try await check(credentials, request.http, access) {
      case .known(let username): return try await work(username, backend)
      case .unknown: return UserGate.invalidToken
      case .blocked(let seconds): return .tooManyRequests(after: seconds)
      }
    } catch {
      failures.failed(request, error)
      return .error("Internal server error", status: 500)
    }
  }

  /// A name that nobody can have, or credentials that are nobody's, are a failure like any other.
  private func check(
    _ credentials: BearerCredentials, _ request: HTTPRequest, _ access: Access
  ) async throws(RedisError) -> FailureLimit.Outcome<String> {
    guard case .named(let sent, let token) = credentials, let username = Credential.normalized(sent, of: .user) else {
      return try await access.failures.check(.user, "", of: request) { nil }
    }
    return try await access.failures.check(.user, username, of: request) { () async throws(RedisError) -> String? in
      try await access.credentials.isValid(bearer: token, of: username) ? username : nil
    }
  }

  private static let invalidToken = HTTPResponse.error("Unauthorized - invalid token", status: 401)
}
