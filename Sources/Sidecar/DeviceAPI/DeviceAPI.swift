import Credentials
import EventLoop
import HTTPServer
import Registry

/// docs/http/device-api.md: `/devices`, also under `/v1`.
@EventLoop
struct DeviceAPI: HTTPAPI {
  /// Of the document, to the letter.
  private static let crossOrigin: [(name: String, value: String)] = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"),
    ("Access-Control-Allow-Headers", "Content-Type, X-Amz-Date, Authorization, X-Api-Key, X-Amz-Security-Token"),
  ]

  let configuration: SidecarConfiguration
  let backend: Backend?
  let access: Access?
  let limiter: RateLimiter?
  let failures: FailedRequestLog

  let routes = ["", "/v1"].flatMap { ["\($0)/devices", "\($0)/devices/", "\($0)/devices/{deviceToken}"] }
  let roots = ["/devices/", "/v1/devices/"]

  init(_ configuration: SidecarConfiguration, backend: Backend?, access: Access?, failures: FailedRequestLog) {
    self.configuration = configuration
    self.backend = backend
    self.access = access
    self.failures = failures
    limiter = backend.map { RateLimiter(connection: $0.connection) }
  }

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    var response: HTTPResponse
    do throws(Refusal) {
      response = try await answer(request)
    } catch {
      failures.failed(request, error)
      response = error.response
    }
    response.headers += DeviceAPI.crossOrigin
    return response
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    var response = Refusal.unread(status).response
    response.headers += DeviceAPI.crossOrigin
    return response
  }

  var notFound: HTTPResponse {
    var response = Refusal(404, "Not found").response
    response.headers += DeviceAPI.crossOrigin
    return response
  }

  private func answer(_ request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    if request.method == "OPTIONS" { return HTTPResponse(status: 204) }
    let isOneDevice = !request.route.hasSuffix("/devices")
    let allowed = isOneDevice ? ["DELETE", "OPTIONS"] : ["GET", "POST", "PUT", "OPTIONS"]
    guard allowed.contains(request.method) else { throw .methodNotAllowed(allowed.joined(separator: ", ")) }
    guard let backend, let access, let limiter else { throw .notConfigured }
    let key = try await APIKeyCheck(access: access).credential(of: request, for: .devices)
    try await DeviceAPI.admit(key, limiter)
    return switch request.method {
    case "POST": try await create(request, backend.registry)
    case "PUT": try await update(request, backend.registry)
    case "DELETE": try await delete(request, backend.registry)
    default: try await list(request, backend.registry)
    }
  }

  private static func admit(_ key: Credential, _ limiter: RateLimiter) async throws(Refusal) {
    let decision: RateDecision
    do { decision = try await limiter.take(key.name, key.quota) } catch { throw Refusal(error) }
    switch decision {
    case .admitted: return
    case .tooFast(let seconds):
      throw .tooManyRequests(
        "at most \(key.quota.perSecond) requests a second, in bursts of up to \(key.quota.burst)", after: seconds)
    case .dayUsedUp(let seconds):
      throw .tooManyRequests("at most \(key.quota.perDay) requests a day (UTC)", after: seconds)
    }
  }
}
