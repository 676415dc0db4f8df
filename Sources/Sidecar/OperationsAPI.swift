import EventLoop
import HTTPServer
import JSON
import Redis

/// `/healthz` `/readyz` `/openapi.json`: for whoever runs the sidecar. The metrics are on the admin address alone.
@EventLoop
struct OperationsAPI: HTTPAPI {
  let backend: Backend?
  let sender: (any DirectSender)?
  let isStopping: @EventLoop () -> Bool

  let routes = ["/healthz", "/readyz", "/openapi.json"]

  func respond(to request: SidecarRequest) async -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else {
      var response = HTTPResponse.error("Method not allowed", status: 405)
      response.headers.append(("Allow", "GET, HEAD"))
      return response
    }
    switch request.route {
    case "/readyz": return readiness
    case "/openapi.json": return .json(PackageResources.openapi_json)
    default: return .text("ok\n")
    }
  }

  /// Ready when Redis answers. Without APNs, or with APNs out of reach, devices are registered and records are polled: that is
  /// only told.
  var readiness: HTTPResponse {
    let redis = backend.map { $0.connection.isReady ? "ok" : "unreachable" } ?? "not configured"
    let apns = sender.map { $0.isConnected ? "ok" : "unreachable" } ?? "not configured"
    let isReady = redis == "ok" && !isStopping()
    return .json(
      .object([
        JSONMember(key: "ready", value: .bool(isReady)), JSONMember(key: "redis", value: .string(redis)),
        JSONMember(key: "apns", value: .string(apns)), JSONMember(key: "stopping", value: .bool(isStopping())),
      ]), status: isReady ? 200 : 503)
  }
}
