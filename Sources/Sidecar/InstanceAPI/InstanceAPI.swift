import Queue
import PushModel
import Credentials
import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis
import Registry

/// docs/http/instance-api.md: the one device of an instance, and what it polls. Every error is a bare code.
@EventLoop
struct InstanceAPI: HTTPAPI {
  private static let events = "/events/since"

  private let backend: Backend?
  private let access: Access?
  private let failures: FailedRequestLog

  let routes = ["/push/apns/register", events]

  init(backend: Backend?, access: Access?, failures: FailedRequestLog) {
    self.backend = backend
    self.access = access
    self.failures = failures
  }

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    do throws(Refusal) {
      let isPolling = request.route == InstanceAPI.events
      let method = isPolling ? "GET" : "POST"
      guard request.method == method else {
        var refusal = Refusal(405, "method_not_allowed")
        refusal.headers = [("Allow", method)]
        throw refusal
      }
      guard let backend, let access else { throw InstanceAPI.serverError() }
      let instance = try await instance(of: request, access)
      return try await isPolling
        ? events(of: instance, request, backend) : register(instance, request, backend, access)
    } catch {
      failures.failed(request, error)
      return error.response
    }
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    Refusal(status, status == 413 ? "payload_too_large" : "invalid_request").response
  }

  private func register(
    _ instance: String, _ request: SidecarRequest, _ backend: Backend, _ access: Access
  ) async throws(Refusal) -> HTTPResponse {
    let record = try InstanceAPI.record(request)
    let seconds: Int?
    do { seconds = try await access.wait(.registration, of: "instance:" + instance) } catch {
      throw InstanceAPI.serverError(error)
    }
    if let seconds { throw InstanceAPI.rateLimited(after: seconds) }
    do {
      try await backend.registry.register(instance: instance, record)
    } catch { throw InstanceAPI.serverError(error) }
    return .json(.object([JSONMember(key: "ok", value: .bool(true))]))
  }

  private func events(
    of instance: String, _ request: SidecarRequest, _ backend: Backend
  ) async throws(Refusal) -> HTTPResponse {
    let query: NotificationQuery
    do { query = try NotificationQuery(request.http.query, .events) } catch { throw Refusal(400, error.text) }
    do {
      let page = try await backend.notifications.page(
        ofInstance: instance, after: query.since.id, limit: query.limit)
      return .json(page.json("events", since: query.since))
    } catch { throw InstanceAPI.serverError(error) }
  }

  /// 401 unless both headers were sent once and the key is known; 403 when it is another instance's, or disabled; 429 when the
  /// client has sent too many wrong keys for that instance.
  private func instance(of request: SidecarRequest, _ access: Access) async throws(Refusal) -> String {
    let headers = request.http.headers
    guard headers["X-Nyra-Device-Key"] != nil, headers["X-Nyra-Instance-Id"] != nil else {
      throw Refusal(401, "unauthorized")
    }
    let sent = headers.secret("X-Nyra-Instance-Id").flatMap { Credential.normalized($0, of: .instance) }
    let found: Credential
    switch try await check(request.http, sent, access) {
    case .known(let credential): found = credential
    case .unknown: throw Refusal(401, "unauthorized")
    case .blocked(let seconds): throw InstanceAPI.rateLimited(after: seconds)
    }
    guard found.isEnabled, found.name == sent else { throw Refusal(403, "instance_mismatch_or_disabled") }
    return found.name
  }

  private func check(
    _ request: HTTPRequest, _ instance: String?, _ access: Access
  ) async throws(Refusal) -> FailureLimit.Outcome<Credential> {
    let secret = request.headers.secret("X-Nyra-Device-Key")
    let isSentOnce = request.headers.secret("X-Nyra-Instance-Id") != nil
    do {
      return try await access.failures.check(.instance, instance ?? "", of: request) {
        () async throws(RedisError) -> Credential? in
        guard let secret, isSentOnce else { return nil }
        return try await access.credentials.find(.instance, secret: secret)
      }
    } catch { throw InstanceAPI.serverError(error) }
  }

  private static func record(_ request: SidecarRequest) throws(Refusal) -> InstanceRecord {
    let invalid = Refusal(400, "invalid_token")
    let body: JSONValue
    do { body = try request.jsonObject() } catch { throw invalid }
    guard let token = body["apns_device_token"]?.string.flatMap(RequestFields.lowercasedHex),
      let environment = body["environment"]?.string.flatMap(PushEnvironment.init)
    else { throw invalid }
    return InstanceRecord(token: token, environment: environment, updatedAt: Clock.unixMilliseconds)
  }

  private static func rateLimited(after seconds: Int) -> Refusal {
    var refusal = Refusal(429, "rate_limited")
    refusal.headers = [("Retry-After", String(seconds))]
    return refusal
  }

  private static func serverError(_ cause: RedisError? = nil) -> Refusal {
    var refusal = Refusal(500, "server_error")
    refusal.cause = cause
    return refusal
  }
}
