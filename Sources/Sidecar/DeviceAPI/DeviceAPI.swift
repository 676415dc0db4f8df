import Credentials
import EventLoop
import HTTPServer

/// The devices of users, for backends: docs/http/device-api.md.
@EventLoop
struct DeviceAPI: HTTPAPI {
  /// The values that the document states.
  private static let crossOrigin: [(name: String, value: String)] = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"),
    ("Access-Control-Allow-Headers", "Content-Type, X-Amz-Date, Authorization, X-Api-Key, X-Amz-Security-Token"),
  ]

  let context: APIContext

  let routes = ["", "/v1"].flatMap { ["\($0)/devices", "\($0)/devices/", "\($0)/devices/{deviceToken}"] }
  let roots = ["/devices/", "/v1/devices/"]

  func needsBody(_ request: SidecarRequest) -> Bool {
    ["POST", "PUT"].contains(request.method) && DeviceAPI.methods(of: request).contains(request.method)
      && context.storage?.access.mayHaveAPIKey(request.http) == true
  }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    try await answer(request).with(DeviceAPI.crossOrigin)
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    refusal.responseWithMessage.with(DeviceAPI.crossOrigin)
  }

  private static func methods(of request: SidecarRequest) -> [String] {
    let isOneDevice = !request.route.hasSuffix("/devices")
    return isOneDevice ? ["DELETE", "OPTIONS"] : ["GET", "POST", "PUT", "OPTIONS"]
  }

  private func answer(_ request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    if request.method == "OPTIONS" { return HTTPResponse(status: 204) }
    let allowed = DeviceAPI.methods(of: request)
    guard allowed.contains(request.method) else {
      let list = allowed.joined(separator: ", ")
      throw .methodNotAllowed(list, "Allowed here: \(list)")
    }
    let storage = try context.requireStorage()
    let key = try await storage.access.apiKey(of: request.http, for: .devices)
    try await storage.access.admit(key)
    let registry = storage.backend.registry
    return switch request.method {
    case "POST": try await create(request, key, registry)
    case "PUT": try await update(request, key, registry)
    case "DELETE": try await delete(request, key, registry)
    default: try await list(request, key, registry)
    }
  }
}
