import Credentials
import EventLoop
import HTTPServer
import JSON
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
  let turns = Turns(limit: maximumWaiting)
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
    let (request, username) = (try RegisterRequest(body), user.name)
    let traits = request.traits
    let app = try app(of: user, named: traits.bundleID)
    try await storage.access.admit(.registration, of: "user:" + username)
    let registry = storage.backend.registry
    try await user.refuseForeign(
      request.token, in: registry, else: context.configuration.bundleID, with: PushAPI.otherApp)
    let registration = Registration(
      token: request.token, username: username, platform: request.platform, bundleID: app,
      // A default never replaces what is known.
      isBundleAssumed: traits.bundleID == nil && user.apps.isForEveryApp, traits, now: Clock.unixMilliseconds)
    let previous = try await refusingFaults(await registry.register(registration).previousOwner)
    if let previous {
      context.log.info(
        "a device was transferred to another user",
        ["token": .init(Log.shortened(request.token.text)), "from": .init(previous), "to": .init(username)])
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
