import Credentials
import EventLoop
import HTTPServer
import JSON
import Redis
import Sidecar

/// `POST /api/push` and `GET /api/stat/app` of gorush, for programs that speak to it: docs/http/gorush-api.md.
@EventLoop
struct GorushAPI: HTTPAPI {
  /// Notifications of one request, at most: gorush's default.
  private static let maximumNotifications = 100
  private static let methods = ["/api/push": "POST", "/api/stat/app": "GET"]

  let context: APIContext
  /// Whether no API key is required.
  let isOpen: Bool

  var routes: [String] { Array(GorushAPI.methods.keys) }

  func needsBody(_ request: SidecarRequest) -> Bool {
    guard request.method == "POST", GorushAPI.methods[request.route] == "POST", let access = context.storage?.access
    else { return false }
    return isOpen || access.mayHaveAPIKey(request.http)
  }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    let method = GorushAPI.methods[request.route] ?? ""
    guard request.method == method else { throw .methodNotAllowed(method) }
    // Without API keys nothing else prevents a page of any site from sending pushes.
    guard RequestOrigin(request.http.headers) == .none else {
      throw Refusal(.forbidden, nil, "Requests of pages, with Origin or Referer, are refused")
    }
    let storage = try context.requireStorage()
    let apps = try await admit(request.http, storage.access)
    let connection = storage.backend.connection
    guard method == "POST" else {
      let statistics = try await refusingFaults(await GorushStatistics.read(connection))
      return .json(statistics.object(version: context.configuration.version))
    }
    return try await push(request.http, for: apps, connection)
  }

  /// `{"code","message"}`.
  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    let body: JSONObject = ["code": refusal.status, "message": refusal.message ?? refusal.error]
    return HTTPResponse.json(body, status: refusal.status).with(refusal.headers)
  }

  /// Returns the apps of the API key, within its quota; without keys every app, within the limit of the client address.
  private func admit(_ request: HTTPRequest, _ access: Access) async throws(Refusal) -> AppBinding {
    guard !isOpen else {
      try await access.admit(.broadcast, of: "address:" + access.client(of: request))
      return .everyApp
    }
    let key = try await access.apiKey(of: request, for: .jobs)
    try await access.admit(key)
    return key.apps
  }

  /// Enqueues what can be sent, all or nothing, and reports the rest in `logs`.
  private func push(
    _ request: HTTPRequest, for apps: AppBinding, _ connection: RedisClient
  ) async throws(Refusal) -> HTTPResponse {
    func refusal(_ message: String) -> Refusal { .invalid("notifications", message) }
    guard let notifications = try RequestBody.object(request.body)["notifications"]?.array else {
      throw refusal("Missing notifications field.")
    }
    guard !notifications.isEmpty else { throw refusal("Notifications field is empty.") }
    guard notifications.count <= GorushAPI.maximumNotifications else {
      throw refusal("Number of notifications(\(notifications.count)) over limit(\(GorushAPI.maximumNotifications))")
    }
    var batch = GorushBatch(apps: apps)
    for notification in notifications { batch.add(notification) }
    if !batch.jobs.isEmpty {
      let command = batch.jobs.reduce(RedisCommand("LPUSH", context.configuration.queue)) { $0.with($1) }
      _ = try await refusingFaults(await connection.send(command))
    }
    return .json(["success": "ok", "counts": batch.count, "logs": batch.logs])
  }
}
