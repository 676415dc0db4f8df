import Credentials
import EventLoop
import HTTPServer
import Jobs
import JSON
import PushModel
import Redis
import Registry
import Sidecar

/// The tokens of a user's Live Activities: docs/live-activities.md. Access is that of the push API.
@EventLoop
struct ActivityAPI: HTTPAPI {
  nonisolated private static let token = "/activities/{id}"
  nonisolated private static let type = "/activities/types/{attributesType}"

  private let context: APIContext
  private let gate: UserGate
  /// Nil if Redis is not configured.
  private let activities: Activities?

  let routes = [token, type]
  let roots = ["/activities/"]

  init(_ context: APIContext) {
    self.context = context
    gate = UserGate(context, methods: ["PUT", "DELETE"])
    activities = context.storage.map { Activities(connection: $0.backend.connection) }
  }

  func needsBody(_ request: SidecarRequest) -> Bool { gate.mayAdmit(request.http) }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    try await gate.respond(to: request) { (user, storage) async throws(Refusal) -> HTTPResponse in
      let subject = try Subject(request)
      let body = try ActivityTokenRequest(request.http.body)
      return request.method == "PUT"
        ? try await register(body, subject, of: user, storage)
        : try await unregister(body, subject, of: user, storage)
    }
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    gate.response(to: refusal, of: request)
  }

  /// What a token is for.
  private struct Subject {
    let kind: DeviceKind
    /// The id of an activity, or an attributes type.
    let name: String

    init(_ request: SidecarRequest) throws(Refusal) {
      let name = request.parameter.flatMap { String(percentDecoding: $0) } ?? ""
      kind = request.route == ActivityAPI.type ? .pushtostart : .activity
      if kind == .activity, !LiveActivity.isID(name) {
        throw .invalid("id", "Invalid activity id", "id: expected \(LiveActivity.idRule)")
      }
      if kind == .pushtostart, !LiveActivity.isAttributesType(name) {
        throw .invalid(
          "attributesType", "Invalid attributesType", "attributesType: expected the name of a type in Swift")
      }
      self.name = name
    }
  }

  private func register(
    _ body: ActivityTokenRequest, _ subject: Subject, of user: Credential, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    guard let token = body.token else { throw .invalid("token", "Push token is required") }
    let configuration = context.configuration
    let app = try user.app(named: body.traits.bundleID, else: configuration.bundleID) ?? configuration.bundleID
    try await storage.access.admit(.registration, of: "user:" + user.name)
    let registration = Registration(
      token: token, username: user.username, platform: .ios, bundleID: app,
      isBundleAssumed: body.traits.bundleID == nil,
      environment: body.traits.environment, kind: subject.kind, deviceID: body.traits.deviceID, activity: subject.name,
      frequentPushes: body.frequentPushes, now: Clock.unixMilliseconds)
    let device = ActivityDevice(token: token, phone: body.traits.deviceID, user: user.username)
    let scope = user.scope(else: configuration.bundleID)
    switch try await refusingFaults(await register(registration, of: device, within: scope, storage.backend)) {
    case .done: break
    case .foreign: throw user.foreignDevice
    case .full:
      let most = Registry.maximumActivityTokens
      throw .invalid("id", "Too many tokens", "the activity has \(most) update tokens; reach more phones by a channel")
    }
    if subject.kind == .activity { try await refresh(token, device, of: subject.name, storage.backend) }
    return .json(["success": true])
  }

  private func register(
    _ registration: Registration, of device: ActivityDevice, within scope: AppScope?, _ backend: Backend
  ) async throws(RedisError) -> ActivityEnrollment {
    let registry = backend.registry
    let enrollment = try await registry.register(activityToken: registration, within: scope)
    guard enrollment == .full, let activity = registration.activity,
      try await activities?.state(activity)?.isFor(device) == true
    else { return enrollment }
    return try await registry.register(activityToken: registration, isExpected: true, within: scope)
  }

  /// Enqueues a job that sends the newest state to the token, if there is one for it.
  private func refresh(
    _ token: DeviceToken, _ device: ActivityDevice, of activity: String, _ backend: Backend
  ) async throws(Refusal) {
    let state = try await refusingFaults(await activities?.state(activity))
    guard let newest = state?.newest(for: device) else { return }
    let job: JSONObject = ["id": JobID.random(), "to": ["activity": activity, "token": token.text] as JSONObject]
    _ = try await refusingFaults(await backend.connection.send(RedisCommand("LPUSH", newest.queue).with(job.bytes)))
  }

  /// Removes a token of the user, or all of the activity or type.
  private func unregister(
    _ body: ActivityTokenRequest, _ subject: Subject, of user: Credential, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    let registry = storage.backend.registry
    let query = body.token.map { DeviceQuery.userToken(user: user.username, token: $0) } ?? .user(user.username)
    let resolution = await registry.resolve(query)
    if let error = resolution.error { throw Refusal(error) }
    var removed = 0
    for device in resolution.devices where device.kind == subject.kind && device.activity == subject.name {
      let scope = user.scope(else: context.configuration.bundleID)
      let end = try await refusingFaults(
        await registry.unregister(token: device.token, username: user.username, within: scope))
      removed += end.metadata
    }
    return .json(["success": true, "removed": removed])
  }
}

/// The body of a request to the activity API. No body counts as `{}`.
struct ActivityTokenRequest: Equatable {
  let token: DeviceToken?
  let traits: DeviceTraits
  let frequentPushes: Bool?

  init(_ bytes: [UInt8]) throws(Refusal) {
    let body = try PushBody(bytes)
    token = try body.apnsToken()
    traits = try body.traits()
    guard traits.kind == nil else {
      throw .invalid("kind", "Invalid kind", "kind: the path says what the token is for")
    }
    let frequent = body["frequentPushesEnabled"]
    frequentPushes = frequent?.bool
    guard frequentPushes != nil || frequent == nil || frequent == .null else {
      throw .invalid(
        "frequentPushesEnabled", "Invalid frequentPushesEnabled", "frequentPushesEnabled: expected true or false")
    }
  }
}
