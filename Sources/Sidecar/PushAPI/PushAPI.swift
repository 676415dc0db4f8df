import EventLoop
import HTTPServer
import Redis
import Telemetry

/// `/api/push/register` `/api/push/unregister` `/api/push/test`: docs/http/push-api.md.
@EventLoop
struct PushAPI: HTTPAPI {
  private static let register = "/api/push/register"
  private static let unregister = "/api/push/unregister"
  private static let test = "/api/push/test"

  let configuration: SidecarConfiguration
  let sender: (any DirectSender)?
  let log: Log
  let access: Access?
  let turns = UserTurns()
  private let gate: UserGate

  let routes = [register, unregister, test]

  init(
    _ configuration: SidecarConfiguration, backend: Backend?, access: Access?, sender: (any DirectSender)?,
    failures: FailedRequestLog, log: Log
  ) {
    self.configuration = configuration
    self.access = access
    self.sender = sender
    self.log = log
    gate = UserGate(configuration, method: "POST", backend: backend, access: access, failures: failures)
  }

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    let body = request.http.body
    return await gate.respond(to: request) { (username, backend) async throws(RedisError) -> HTTPResponse in
      switch request.route {
      case PushAPI.register: try await register(body, for: username, backend.registry)
      case PushAPI.unregister: try await unregister(body, for: username, backend.registry)
      default: try await test(body, for: username, backend.registry)
      }
    }
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    gate.refusal(status, of: request)
  }
}
