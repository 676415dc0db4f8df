import CFiles
import EventLoop
import HTTPServer
import JSON
import Redis

/// `/healthz` `/readyz` `/openapi.json`: for operators. Metrics are served by the admin address only.
@EventLoop
struct OperationsAPI: HTTPAPI {
  let context: APIContext

  let routes = ["/healthz", "/readyz", "/openapi.json"]
  private static let document = {
    let file = martlet_file_openapi_json()
    return Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
  }()

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else { throw .methodNotAllowed("GET, HEAD") }
    return switch request.route {
    case "/readyz": readiness(isStopping: request.isStopping)
    case "/openapi.json": .json(OperationsAPI.document)
    default: .text("ok\n")
    }
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse { refusal.response }

  /// 200 if Redis answers, otherwise 503. APNs is only reported: without it devices can still be registered and
  /// notifications polled.
  func readiness(isStopping: Bool) -> HTTPResponse {
    let redis = context.storage.map { $0.backend.connection.isReady ? "ok" : "unreachable" } ?? "not configured"
    let apns = context.sender.map { $0.isConnected ? "ok" : "unreachable" } ?? "not configured"
    let isReady = redis == "ok" && !isStopping
    return .json(
      ["ready": isReady, "redis": redis, "apns": apns, "stopping": isStopping], status: isReady ? 200 : 503)
  }
}
