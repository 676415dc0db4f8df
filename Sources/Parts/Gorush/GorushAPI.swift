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

  /// A usual batch of 1,000 tokens has 67,000 bytes.
  let maximumBodyBytes = 1 << 20
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
    let key = isOpen ? nil : try await storage.access.apiKey(of: request.http, for: .jobs)
    let connection = storage.backend.connection
    guard method == "POST" else {
      try await admit(request.http, key, storage.access)
      let statistics = try await refusingFaults(await GorushStatistics.read(connection))
      return .json(statistics.object(version: context.configuration.version))
    }
    let batch = try batch(request.http.body, of: GorushCaller(key))
    try await admit(request.http, key, storage.access, jobs: batch.jobs.count)
    return try await enqueue(batch, connection)
  }

  /// `{"code","message"}`.
  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    let body: JSONObject = ["code": refusal.status, "message": refusal.message ?? refusal.error]
    return HTTPResponse.json(body, status: refusal.status).with(refusal.headers)
  }

  /// Counts the jobs of a request, or the request if it has none, for the quota of the API key; without keys for the limit of
  /// the client address.
  private func admit(
    _ request: HTTPRequest, _ key: Credential?, _ access: Access, jobs: Int = 0
  ) async throws(Refusal) {
    let weight = max(1, jobs)
    guard let key else {
      return try await access.admit(.broadcast, of: "address:" + access.client(of: request), weight: weight)
    }
    try await access.admit(key, weight: weight, "jobs")
  }

  private func batch(_ body: [UInt8], of caller: GorushCaller) throws(Refusal) -> GorushBatch {
    func refusal(_ message: String) -> Refusal { .invalid("notifications", message) }
    guard let notifications = try RequestBody.object(body)["notifications"]?.array else {
      throw refusal("Missing notifications field.")
    }
    guard !notifications.isEmpty else { throw refusal("Notifications field is empty.") }
    guard notifications.count <= GorushAPI.maximumNotifications else {
      throw refusal("Number of notifications(\(notifications.count)) over limit(\(GorushAPI.maximumNotifications))")
    }
    var batch = GorushBatch(of: caller)
    for notification in notifications { batch.add(notification) }
    return batch
  }

  /// Enqueues what can be sent, all or nothing, and reports the rest in `logs`.
  private func enqueue(_ batch: GorushBatch, _ connection: RedisClient) async throws(Refusal) -> HTTPResponse {
    if !batch.jobs.isEmpty {
      let command = batch.jobs.reduce(RedisCommand("LPUSH", context.configuration.queue)) { $0.with($1) }
      _ = try await refusingFaults(await connection.send(command))
    }
    return .json(["success": "ok", "counts": batch.count, "logs": batch.logs + batch.unlisted])
  }
}
