import EventLoop
import HTTPServer
import Redis
import Registry
import Telemetry

/// What stands before every route of a user, in this order: origin, method, credentials there, redis configured, credentials
/// right. contracts/ryos-push-api.md.
@EventLoop
struct UserGate {
  typealias Work = @EventLoop (_ username: String, _ backend: Backend) async throws(RedisError) -> HTTPResponse

  let crossOrigin: CrossOrigin
  let backend: Backend?
  let missingRedisVariables: [String]
  let log: Log

  init(_ configuration: SidecarConfiguration, method: String, backend: Backend?, log: Log) {
    crossOrigin = CrossOrigin(policy: configuration.originPolicy, method: method)
    self.backend = backend
    missingRedisVariables = configuration.missingRedisVariables
    self.log = log
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
    guard let backend else { return .notConfigured("Redis", missing: missingRedisVariables) }
    guard case .named(let username, let token) = credentials else { return UserGate.invalidToken }
    do {
      guard try await backend.credentials.isValid(bearer: token, of: username) else { return UserGate.invalidToken }
      return try await work(username, backend)
    } catch {
      log.failure(error, of: request)
      return .error("Internal server error", status: 500)
    }
  }

  private static let invalidToken = HTTPResponse.error("Unauthorized - invalid token", status: 401)
}
