import Credentials
import EventLoop
import HTTPServer
import Jobs
import PushModel
import JSON
import Redis
import Registry

extension PushAPI {
  func test(
    _ body: [UInt8], for user: Credential, _ storage: APIContext.Storage
  ) async throws(Refusal) -> HTTPResponse {
    guard let sender = context.sender else {
      throw .notConfigured("APNs", missing: context.configuration.missingAPNsVariables, "set the settings of APNs")
    }
    let (request, username) = (try TestRequest(body), user.name)
    try await storage.access.admit(.testPush, of: "user:" + username)
    guard await turns.take(username) else { throw .tooManyRequests(after: PushAPI.retryAfter) }
    defer { turns.leave(username) }
    return try await send(request, to: user, storage.backend.registry, sender)
  }

  private func send(
    _ request: TestRequest, to user: Credential, _ registry: Registry, _ sender: any DirectSender
  ) async throws(Refusal) -> HTTPResponse {
    let username = user.name
    let query = request.token.map { DeviceQuery.userToken(user: username, token: $0) } ?? .user(username)
    let resolution = await registry.resolve(query)
    if let error = resolution.error { throw Refusal(error) }
    let cleanup = try await refusingFaults(await clean(resolution, of: username, registry))
    // An alert goes to no token of a Live Activity.
    let devices = devices(resolution.devices, for: user).filter { $0.kind?.isOfActivities != true }
    guard !devices.isEmpty else { throw nothingToSend(isTargeted: request.token != nil, cleanup) }
    let concurrency = context.configuration.sendConcurrency
    let report = await sender.send(request.payload, to: devices, concurrency: concurrency)
    return .json(report.object(cleanup, concurrency: concurrency))
  }

  /// Removes the entries of the user's set that are not tokens, or are not the user's.
  private func clean(
    _ resolution: Resolution, of username: String, _ registry: Registry
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
