import EventLoop
import HTTPServer
import JSON
import Redis
import Registry
import Telemetry

/// contracts/nyra-apns-base-1.0.md, 1.1: the one device of an instance. Every error is a bare code.
@EventLoop
struct NyraSurface: Surface {
  private let backend: Backend?
  private let log: Log

  let routes = ["/push/apns/register"]

  init(backend: Backend?, log: Log) {
    self.backend = backend
    self.log = log
  }

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    do throws(Refusal) {
      guard request.method == "POST" else {
        var refusal = Refusal(405, "method_not_allowed")
        refusal.headers = [("Allow", "POST")]
        throw refusal
      }
      guard let backend else { throw NyraSurface.serverError() }
      let instance = try await instance(of: request, backend.credentials)
      let record = try NyraSurface.record(request)
      do {
        try await backend.registry.register(instance: instance, record)
      } catch { throw NyraSurface.serverError(error) }
      return .json(.object([JSONMember(key: "ok", value: .bool(true))]))
    } catch {
      log.failure(error, of: request)
      return error.response
    }
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    Refusal(status, status == 413 ? "payload_too_large" : "invalid_request").response
  }

  /// 401 unless both headers were sent once and the key is known; 403 when it is another instance's, or disabled.
  private func instance(of request: SidecarRequest, _ credentials: Credentials) async throws(Refusal) -> String {
    let headers = request.http.headers
    guard let secret = headers.secret("X-Nyra-Device-Key"), let instance = headers.secret("X-Nyra-Instance-Id") else {
      throw Refusal(401, "unauthorized")
    }
    let found: Credential?
    do { found = try await credentials.find(.instance, secret: secret) } catch { throw NyraSurface.serverError(error) }
    guard let found else { throw Refusal(401, "unauthorized") }
    guard found.isEnabled, found.name == instance else { throw Refusal(403, "instance_mismatch_or_disabled") }
    return found.name
  }

  private static func record(_ request: SidecarRequest) throws(Refusal) -> InstanceRecord {
    let invalid = Refusal(400, "invalid_token")
    let body: JSONValue
    do { body = try request.jsonObject() } catch { throw invalid }
    guard let token = body["apns_device_token"]?.string.flatMap(RequestFields.lowercasedHex),
      let environment = body["environment"]?.string.flatMap(DeviceEnvironment.init)
    else { throw invalid }
    return InstanceRecord(token: token, environment: environment, updatedAt: Clock.unixMilliseconds)
  }

  private static func serverError(_ cause: RedisError? = nil) -> Refusal {
    var refusal = Refusal(500, "server_error")
    refusal.cause = cause
    return refusal
  }
}
