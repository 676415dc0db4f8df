import Credentials
import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis
import Registry
import Telemetry

/// docs/http/broadcast-api.md: `/newtoken` and `/newpush`.
@EventLoop
struct BroadcastAPI: HTTPAPI {
  private let configuration: SidecarConfiguration
  private let backend: Backend?
  private let access: Access?
  private let fallback: BackupFallback?
  private let crossOrigin: CrossOrigin
  private let failures: FailedRequestLog

  let routes = ["/newtoken", "/newpush"]

  init(
    _ configuration: SidecarConfiguration, backend: Backend?, access: Access?, backupImport: BackupImport?,
    failures: FailedRequestLog, log: Log
  ) {
    self.configuration = configuration
    self.backend = backend
    self.access = access
    self.failures = failures
    crossOrigin = CrossOrigin(policy: configuration.originPolicy, method: "POST")
    if let path = configuration.backupPath, let backend, let backupImport {
      fallback = BackupFallback(path: path, backend: backend, importBackup: backupImport, log: log)
    } else {
      fallback = nil
    }
  }

  /// The origin comes first: without API keys nothing else keeps a page of any site from sending to everyone.
  func respond(to request: SidecarRequest) async -> HTTPResponse {
    switch crossOrigin.judge(request.http) {
    case .answered(let response): return response
    case .admitted(let fields): return await answer(request).with(fields)
    }
  }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    switch crossOrigin.judge(request) {
    case .answered(let response): response
    case .admitted(let fields): Refusal.unread(status).response.with(fields)
    }
  }

  private func answer(_ request: SidecarRequest) async -> HTTPResponse {
    do throws(Refusal) {
      guard let backend, let access else { throw .notConfigured }
      let isPush = request.route == "/newpush"
      let caller = try await caller(request, access, for: isPush ? .push : .tokens)
      let body = try request.jsonOrFormObject()
      return try await isPush ? push(body, of: caller, backend) : register(body, of: caller, backend)
    } catch {
      failures.failed(request, error)
      return error.response
    }
  }

  /// Whose requests are counted together: those of a key, or, where none is asked for, of a client address.
  private func caller(
    _ request: SidecarRequest, _ access: Access, for scope: KeyScope
  ) async throws(Refusal) -> String {
    if configuration.isPushServerOpen { return "address:" + access.client(of: request.http) }
    return try await "key:" + APIKeyCheck(access: access).credential(of: request, for: scope).name
  }

  private func admit(_ caller: String) async throws(Refusal) {
    let seconds: Int?
    do { seconds = try await access?.wait(.broadcast, of: caller) } catch { throw Refusal(error) }
    guard let seconds, let limit = configuration.broadcastLimit else { return }
    throw .tooManyRequests(
      "at most \(limit.count) requests to /newtoken and /newpush within \(WindowCount.seconds(limit.window)) s",
      after: seconds)
  }

  /// The device is nobody's, unless it has an owner.
  private func register(
    _ body: JSONValue, of caller: String, _ backend: Backend
  ) async throws(Refusal) -> HTTPResponse {
    let app = try BroadcastAPI.app(body)
    let token = try RequestFields.anyToken(body["token"]?.string, "token")
    try await admit(caller)
    try await fallback?.prepare(app)
    let registration = Registration(
      token: token, username: "", platform: .ios, bundleID: app, now: Clock.unixMilliseconds)
    do { try await backend.registry.register(registration) } catch { throw Refusal(error) }
    return .json(.object([JSONMember(key: "success", value: .bool(true))]))
  }

  private func push(_ body: JSONValue, of caller: String, _ backend: Backend) async throws(Refusal) -> HTTPResponse {
    let app = try BroadcastAPI.app(body)
    let broadcast = try Broadcast(body, to: app, id: JobID.random())
    try await admit(caller)
    try await fallback?.prepare(app)
    do {
      _ = try await backend.connection.send(RedisCommand("LPUSH", configuration.queue).with(broadcast.job))
    } catch { throw Refusal(error) }
    return .json(
      .object([
        JSONMember(key: "success", value: .bool(true)), JSONMember(key: "id", value: .string(broadcast.id)),
      ]))
  }

  /// The document writes both names.
  private static func app(_ body: JSONValue) throws(Refusal) -> String {
    let named = try RequestFields.bundleID(body["bundleId"], "bundleId")
    let otherwise = try RequestFields.bundleID(body["bundledId"], "bundledId")
    guard let app = named ?? otherwise else {
      throw Refusal(400, "Invalid bundleId", "bundleId: missing; it names the app")
    }
    return app
  }
}
