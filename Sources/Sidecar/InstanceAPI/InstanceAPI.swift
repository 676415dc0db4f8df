import Credentials
import EventLoop
import HTTPServer
import JSON
import PushModel
import Queue
import Redis
import Registry

/// The device of an instance, and the notifications that it polls: docs/http/instance-api.md. Every error is a code.
@EventLoop
struct InstanceAPI: HTTPAPI {
  private static let events = "/events/since"
  private static let keyField = "x-nyra-device-key"
  private static let instanceField = "x-nyra-instance-id"

  let context: APIContext

  let routes = ["/push/apns/register", events]

  func needsBody(_ request: SidecarRequest) -> Bool {
    let headers = request.http.headers
    guard request.route != InstanceAPI.events, request.method == "POST", let access = context.storage?.access,
      headers.secret(InstanceAPI.keyField) != nil,
      let name = headers.secret(InstanceAPI.instanceField).flatMap({ Credential.normalized($0, of: .instance) })
    else { return false }
    return !access.isBlocked(.instance, name, request.http)
  }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    let isPolling = request.route == InstanceAPI.events
    let methods = isPolling ? ["GET"] : ["POST", "DELETE"]
    guard methods.contains(request.method) else { throw .methodNotAllowed(methods.joined(separator: ", ")) }
    let storage = try context.requireStorage()
    let instance = try await instance(of: request.http, storage.access)
    return switch request.method {
    case "GET": try await events(of: instance, request.http, storage.backend)
    case "POST": try await register(instance, request.http, storage)
    default: try await unregister(instance, storage)
    }
  }

  /// `{"error":"<code>"}`
  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    let code =
      switch refusal.reason {
      case .malformed, .headTooLarge: "invalid_request"
      case .notJSON: "invalid_token"
      case .invalid(let field): "invalid_\(field)"
      case .unauthorized: "unauthorized"
      case .forbidden: "instance_mismatch_or_disabled"
      case .notFound: "not_found"
      case .methodNotAllowed: "method_not_allowed"
      case .bodyTooLarge: "payload_too_large"
      case .tooManyRequests: "rate_limited"
      case .serverError, .notConfigured, .unavailable: "server_error"
      }
    return refusal.response(error: code)
  }

  private func register(
    _ instance: String, _ request: HTTPRequest, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    let record = try InstanceAPI.record(try RequestBody.object(request.body))
    try await storage.access.admit(.registration, of: "instance:" + instance)
    try await refusingFaults(await storage.backend.registry.register(instance: instance, record))
    return .json(["ok": true])
  }

  /// The same answer if there is no device: then there is nothing to remove.
  private func unregister(_ instance: String, _ storage: APIContext.Storage) async throws(Refusal) -> HTTPResponse {
    try await storage.access.admit(.registration, of: "instance:" + instance)
    _ = try await refusingFaults(await storage.backend.registry.unregister(instance: instance))
    return .json(["ok": true])
  }

  private func events(
    of instance: String, _ request: HTTPRequest, _ backend: Backend
  ) async throws(Refusal) -> HTTPResponse {
    let query = try NotificationQuery(request.query, cursor: "cursor")
    let page = try await refusingFaults(
      await backend.notifications.page(ofInstance: instance, after: query.since.id, limit: query.limit))
    return .json(page.json("events", since: query.since))
  }

  /// Returns the id of the instance whose device key the request has.
  ///
  /// Throws 401 unless both header fields were sent once and the key is known, 403 if the key is another instance's or
  /// disabled, and 429 if the client has sent too many invalid keys for the instance.
  private func instance(of request: HTTPRequest, _ access: Access) async throws(Refusal) -> String {
    let headers = request.headers
    guard headers[InstanceAPI.keyField] != nil, headers[InstanceAPI.instanceField] != nil else {
      throw Refusal(.unauthorized)
    }
    let (key, sent) = (headers.secret(InstanceAPI.keyField), headers.secret(InstanceAPI.instanceField))
    let name = sent.flatMap { Credential.normalized($0, of: .instance) }
    let found = try await access.failures.checking(.instance, name ?? "", of: request, access.trustedProxies) {
      () async throws(RedisError) -> Credential? in
      guard let key, sent != nil else { return nil }
      return try await access.credentials.find(.instance, secret: key)
    }
    guard let found else { throw Refusal(.unauthorized) }
    guard found.isEnabled, found.name == name else { throw Refusal(.forbidden) }
    access.uses.record(found)
    return found.name
  }

  private static func record(_ body: JSONValue) throws(Refusal) -> InstanceRecord {
    let token = try RequestFields.apnsToken(body["apns_device_token"]?.string, "token", "Invalid token")
    guard let environment = body["environment"]?.string.flatMap(PushEnvironment.init(named:)) else {
      throw .invalid("token", "Invalid token")
    }
    let traits = try DeviceTraits(body)
    // Notifications of instances are alerts.
    guard traits.kind ?? .app == .app else { throw .invalid("kind", "Invalid kind") }
    return InstanceRecord(
      token: token, environment: environment, bundleID: traits.bundleID, updatedAt: Clock.unixMilliseconds)
  }
}
