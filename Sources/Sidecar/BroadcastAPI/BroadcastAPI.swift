import Credentials
import EventLoop
import HTTPServer
import Jobs
import JSON
import PushModel
import Redis
import Registry

/// `/newtoken` and `/newpush`, broadcasts to the audience of an app: docs/http/broadcast-api.md.
@EventLoop
struct BroadcastAPI: HTTPAPI {
  private let context: APIContext
  private let fallback: BackupFallback?
  private let crossOrigin: CrossOrigin

  let routes = ["/newtoken", "/newpush"]

  init(_ context: APIContext) {
    self.context = context
    crossOrigin = CrossOrigin(policy: context.configuration.originPolicy, methods: ["POST"])
    fallback = BackupFallback(context)
  }

  func needsBody(_ request: SidecarRequest) -> Bool {
    guard crossOrigin.admits(request.http), let access = context.storage?.access else { return false }
    return context.configuration.isBroadcastOpen || access.mayHaveAPIKey(request.http)
  }

  /// Checks the origin first: without API keys nothing else prevents a page of any site from sending broadcasts.
  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    let fields = try crossOrigin.admit(request.http)
    let storage = try context.requireStorage()
    let isPush = request.route == "/newpush"
    let caller = try await caller(request.http, storage.access, for: isPush ? .push : .tokens)
    let body = try RequestBody.objectOrForm(request.http)
    let trace = request.http.headers["traceparent"].flatMap(TraceParent.init(header:))
    let answer = try await isPush ? push(body, trace, of: caller, storage) : register(body, of: caller, storage)
    return answer.with(fields)
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    crossOrigin.response(to: refusal, of: request, \.responseWithMessage)
  }

  /// Who sends a request.
  private struct Caller {
    /// Requests of one name are counted together.
    let name: String
    /// Nil if no key is required.
    var key: Credential?
  }

  /// Returns the API key, or the client address if no key is required.
  private func caller(
    _ request: HTTPRequest, _ access: Access, for scope: KeyScope
  ) async throws(Refusal) -> Caller {
    if context.configuration.isBroadcastOpen { return Caller(name: "address:" + access.client(of: request)) }
    let key = try await access.apiKey(of: request, for: scope)
    return Caller(name: "key:" + key.name, key: key)
  }

  /// Registers an anonymous device. A device that has an owner is left as it is.
  private func register(
    _ body: JSONValue, of caller: Caller, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    let app = try BroadcastAPI.app(body, of: caller)
    let token = try RequestFields.apnsToken(body["token"]?.string, "token")
    let traits = try DeviceTraits(body)
    try await storage.access.admit(.broadcast, of: caller.name)
    try await fallback?.prepare(app)
    let registration = Registration(
      token: token, username: .nobody, platform: .ios, bundleID: app, isBundleAssumed: false, traits,
      now: Clock.unixMilliseconds)
    // A device of another app stays as it is, like one that has an owner: every answer is a success.
    let scope = caller.key?.scope(else: context.configuration.bundleID)
    _ = try await refusingFaults(await storage.backend.registry.register(registration, within: scope))
    return .json(["success": true])
  }

  private func push(
    _ body: JSONValue, _ trace: TraceParent?, of caller: Caller, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    let app = try BroadcastAPI.app(body, of: caller)
    let broadcast = try BroadcastJob(body, to: app, id: JobID.random(), trace: trace)
    try await storage.access.admit(.broadcast, of: caller.name)
    try await fallback?.prepare(app)
    let command = RedisCommand("LPUSH", context.configuration.queue).with(broadcast.job)
    _ = try await refusingFaults(await storage.backend.connection.send(command))
    return .json(["success": true, "id": broadcast.id])
  }

  /// Returns the app's bundle id. The document uses both spellings of the field. A key of one app need not name it.
  private static func app(_ body: JSONValue, of caller: Caller) throws(Refusal) -> String {
    let named = try RequestFields.bundleID(body["bundleId"], "bundleId")
    let otherwise = try RequestFields.bundleID(body["bundledId"], "bundledId")
    let sent = named ?? otherwise
    guard let app = try caller.key?.app(named: sent, else: nil) ?? sent else {
      throw .invalid("bundleId", "Invalid bundleId", "bundleId: missing; it names the app")
    }
    return app
  }
}

/// The job that `/newpush` enqueues.
struct BroadcastJob {
  let id: String
  /// The job as JSON.
  let job: [UInt8]

  /// Reads `body` and `title` of a request. Throws 400 if a worker would refuse the job, with the worker's reason.
  init(_ request: JSONValue, to app: String, id: String, trace: TraceParent? = nil) throws(Refusal) {
    guard let body = request["body"]?.string, !body.isEmpty else {
      throw .invalid("body", "Invalid body", "body: expected a string that is not empty")
    }
    var title: String?
    switch request["title"] {
    case nil, .null, .string(""): break
    case .string(let text): title = text
    default: throw .invalid("title", "Invalid title", "title: expected a string")
    }
    self.id = id
    let job: JSONObject = [
      "id": id, "to": ["app": app] as JSONObject, "title": title, "body": body, "trace": trace?.text,
    ]
    self.job = job.bytes
    do {
      _ = try Job(parsing: self.job).apnsPayload()
    } catch {
      throw .invalid("push", "Invalid push", error.reason)
    }
  }
}
