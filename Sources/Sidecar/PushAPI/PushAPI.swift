import Credentials
import EventLoop
import HTTPServer
import JSON
import Jobs
import PushModel
import Redis
import Registry
import Telemetry

/// The devices of a user, for the user's app: docs/http/push-api.md.
@EventLoop
struct PushAPI: HTTPAPI {
  private static let register = "/api/push/register"
  private static let unregister = "/api/push/unregister"
  private static let test = "/api/push/test"

  /// When a test push may be repeated that found too many others waiting. Seconds.
  static let retryAfter = 1
  /// Test pushes of one user that may wait.
  private static let maximumWaiting = 8

  let context: APIContext
  /// Of users whose test pushes are sent.
  let turns = KeyedMutex<Username>(limit: maximumWaiting)
  private let gate: UserGate

  let routes = [register, unregister, test]

  init(_ context: APIContext) {
    self.context = context
    gate = UserGate(context, methods: ["POST"])
  }

  func needsBody(_ request: SidecarRequest) -> Bool { gate.mayAdmit(request.http) }

  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse {
    let body = request.http.body
    return try await gate.respond(to: request) { (user, storage) async throws(Refusal) -> HTTPResponse in
      switch request.route {
      case PushAPI.register: try await register(body, for: user, storage)
      case PushAPI.unregister: try await unregister(body, for: user, storage.backend.registry)
      default: try await test(body, for: user, storage)
      }
    }
  }

  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse {
    gate.response(to: refusal, of: request)
  }

  private func register(
    _ body: [UInt8], for user: Credential, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    let (request, username) = (try RegisterRequest(body), user.username)
    let traits = request.traits
    let app = try app(of: user, named: traits.bundleID)
    try await storage.access.admit(.registration, of: "user:" + username.text)
    let registration = Registration(
      token: request.token, username: username, platform: request.platform, bundleID: app,
      // A default never replaces what is known.
      isBundleAssumed: traits.bundleID == nil && user.apps.isForEveryApp, traits, now: Clock.unixMilliseconds)
    let enrollment = try await refusingFaults(
      await storage.backend.registry.register(registration, within: scope(of: user)))
    guard let enrollment else { throw PushAPI.otherApp }
    if let previous = enrollment.previousOwner {
      context.log.info(
        "a device was transferred to another user",
        ["token": .init(Log.shortened(request.token.text)), "from": .init(previous.text), "to": .init(username.text)])
    }
    return .json(["success": true, "token": request.token.text, "platform": request.platform.rawValue])
  }

  func unregistered(_ counts: Unregistration) -> HTTPResponse {
    .json([
      "success": true, "removed": counts.entries + counts.malformedEntries, "metadataRemoved": counts.metadata,
      "invalidStoredTokensRemoved": counts.malformedEntries,
      // A Redis set holds strings only.
      "skippedNonStringTokenCount": 0,
      "pushMetadataLookupConcurrency": counts.hasLookedUp ? context.configuration.lookupConcurrency : 0,
      "removedUserTokenSet": counts.isSetGone ? 1 : 0,
    ])
  }
}

/// The requests of users that may be bound to apps.
extension PushAPI {
  static let otherApp = Refusal(.forbidden, "This user may not use this app")

  /// Returns the app of a user's registration: the one that it names, else that of the binding, else the configured one.
  /// Throws 403 if the user is not for it, or is for several apps and the configured one is not among them.
  func app(of user: Credential, named: String?) throws(Refusal) -> String? {
    if let named {
      guard user.apps.allows(named) else { throw PushAPI.otherApp }
      return named
    }
    let configured = context.configuration.bundleID
    guard let app = user.apps.app(else: configured) else {
      if user.apps.isForEveryApp { return nil }
      throw PushAPI.otherApp
    }
    return app
  }

  private func scope(of user: Credential) -> AppScope? { user.scope(else: context.configuration.bundleID) }

  /// The devices that the user's credential is for.
  func devices(_ devices: [Device], for user: Credential) -> [Device] {
    if user.apps.isForEveryApp { return devices }
    return devices.filter { user.isFor($0, else: context.configuration.bundleID) }
  }

  func unregister(
    _ body: [UInt8], for user: Credential, _ registry: Registry
  ) async throws(Refusal) -> HTTPResponse {
    let tokens = try PushBody(body).tokens()
    guard user.apps.isForEveryApp else {
      return unregistered(try await unregister(tokens, ofApps: user, registry))
    }
    guard !tokens.isEmpty else {
      return unregistered(try await refusingFaults(await registry.unregisterAll(username: user.username)))
    }
    var counts = Unregistration()
    for token in tokens {
      let one = try await refusingFaults(await registry.unregister(token: token, username: user.username))
      counts.entries += one.entries
      counts.metadata += one.metadata
    }
    return unregistered(counts)
  }

  /// The devices of a user, or the one that is registered as the first of `tokens`.
  private func resolve(_ tokens: [DeviceToken], of user: Username, _ registry: Registry) async -> Resolution {
    guard !tokens.isEmpty else { return await registry.resolve(.user(user)) }
    var resolution = Resolution()
    for token in tokens where resolution.error == nil && resolution.devices.isEmpty {
      let removals = resolution.removals
      resolution = await registry.resolve(.userToken(user: user, token: token))
      resolution.removals += removals
    }
    return resolution
  }

  /// Unregisters one device, or all, of the apps that the user is bound to. Devices of other apps stay.
  private func unregister(
    _ tokens: [DeviceToken], ofApps user: Credential, _ registry: Registry
  ) async throws(Refusal) -> Unregistration {
    let resolution = await resolve(tokens, of: user.username, registry)
    if let error = resolution.error { throw Refusal(error) }
    var counts = Unregistration()
    for device in devices(resolution.devices, for: user) {
      let one = try await refusingFaults(
        await registry.unregister(token: device.token, username: user.username, within: scope(of: user)))
      counts.entries += one.entries
      counts.metadata += one.metadata
    }
    guard tokens.isEmpty else { return counts }
    counts.hasLookedUp = !resolution.devices.isEmpty
    counts.isSetGone = counts.entries > 0 && counts.entries == resolution.devices.count && resolution.removals.isEmpty
    return counts
  }
}

extension PushAPI {
  func test(
    _ body: [UInt8], for user: Credential, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    guard let sender = context.sender else {
      throw .notConfigured("APNs", missing: context.configuration.missingAPNsVariables, "set the settings of APNs")
    }
    let (request, username) = (try TestRequest(body), user.username)
    guard await turns.take(username) else { throw .tooManyRequests(after: PushAPI.retryAfter) }
    defer { turns.leave(username) }
    return try await send(request, to: user, storage, sender)
  }

  private func send(
    _ request: TestRequest, to user: Credential, _ storage: APIContext.Storage, _ sender: any DirectSender
  ) async throws(Refusal) -> HTTPResponse {
    let (username, registry) = (user.username, storage.backend.registry)
    let resolution = await resolve(request.tokens, of: username, registry)
    if let error = resolution.error { throw Refusal(error) }
    let cleanup = try await refusingFaults(await clean(resolution, of: username, registry))
    // An alert goes to no token of a Live Activity.
    let devices = devices(resolution.devices, for: user).filter { $0.kind?.isOfActivities != true }
    // A test that reaches no device counts, too: it has read the user's devices.
    try await storage.access.admit(.testPush, of: "user:" + username.text, weight: max(1, devices.count))
    guard !devices.isEmpty else { throw nothingToSend(isTargeted: !request.tokens.isEmpty, cleanup) }
    let concurrency = context.configuration.sendConcurrency
    let report = await sender.send(request.payload, to: devices, concurrency: concurrency)
    return .json(report.object(cleanup, concurrency: concurrency))
  }

  /// Removes the entries of the user's set that are not tokens, or are not the user's.
  private func clean(
    _ resolution: Resolution, of username: Username, _ registry: Registry
  ) async throws(RedisError) -> SetCleanup {
    let malformed = resolution.removals.filter { $0.reason == .malformedToken }
    let foreign = resolution.removals.filter { $0.reason != .malformedToken }
    var cleanup = SetCleanup()
    if !malformed.isEmpty { cleanup.malformed = try await registry.clean(user: username, malformed) }
    if !foreign.isEmpty { cleanup.foreign = try await registry.clean(user: username, foreign) }
    if !foreign.isEmpty || !resolution.devices.isEmpty {
      cleanup.lookupConcurrency = context.configuration.lookupConcurrency
    }
    return cleanup
  }

  private func nothingToSend(isTargeted: Bool, _ cleanup: SetCleanup) -> Refusal {
    var refusal: Refusal
    if isTargeted {
      refusal = Refusal(.forbidden, "Token is not registered for this user")
    } else if cleanup.lookupConcurrency > 0 {
      refusal = .invalid("token", "No owned push tokens for this user")
    } else {
      refusal = .invalid("token", "No registered push tokens for this user")
    }
    refusal.members = isTargeted || cleanup.lookupConcurrency > 0 ? cleanup.diagnostics : cleanup.storageMembers
    return refusal
  }
}
