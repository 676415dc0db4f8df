import Credentials
import EventLoop
import HTTPServer
import JSON
import Redis
import Registry

extension PushAPI {
  func test(
    _ body: [UInt8], for username: String, _ registry: Registry
  ) async throws(RedisError) -> HTTPResponse {
    guard let sender else { return .notConfigured("APNs", missing: configuration.missingAPNsVariables) }
    let wanted: TestRequest
    do { wanted = try TestRequest(body) } catch { return .error(error.text, status: 400) }
    if let seconds = try await access?.wait(.testPush, of: "user:" + username) {
      return .tooManyRequests(after: seconds)
    }
    guard await turns.enter(username) else { return .tooManyRequests(after: UserTurns.retryAfter) }
    defer { turns.leave(username) }
    return try await send(wanted, to: username, registry, sender)
  }

  private func send(
    _ wanted: TestRequest, to username: String, _ registry: Registry, _ sender: any DirectSender
  ) async throws(RedisError) -> HTTPResponse {
    let query = wanted.token.map { DeviceQuery.userToken(user: username, token: $0) } ?? .user(username)
    let resolution = await registry.resolve(query)
    if let error = resolution.error { throw error }
    let cleanup = try await clean(resolution, of: username, registry)
    guard !resolution.devices.isEmpty else { return refusal(isTargeted: wanted.token != nil, cleanup) }
    let report = await sender.send(wanted.payload, to: resolution.devices, concurrency: configuration.sendConcurrency)
    return .json(.object(PushReport(report, cleanup, concurrency: configuration.sendConcurrency).members))
  }

  /// Takes out of the user's set what is no token, or is not the user's.
  private func clean(
    _ resolution: Resolution, of username: String, _ registry: Registry
  ) async throws(RedisError) -> StoredCleanup {
    let malformed = resolution.removals.filter { $0.reason == .malformedToken }
    let foreign = resolution.removals.filter { $0.reason != .malformedToken }
    var cleanup = StoredCleanup()
    if !malformed.isEmpty { cleanup.malformed = try await registry.clean(user: username, malformed) }
    if !foreign.isEmpty { cleanup.foreign = try await registry.clean(user: username, foreign) }
    if !foreign.isEmpty || !resolution.devices.isEmpty { cleanup.lookupConcurrency = configuration.lookupConcurrency }
    return cleanup
  }

  /// Nothing is left to send to.
  private func refusal(isTargeted: Bool, _ cleanup: StoredCleanup) -> HTTPResponse {
    if isTargeted { return .error("Token is not registered for this user", status: 403, cleanup.diagnostics) }
    guard cleanup.lookupConcurrency > 0 else {
      return .error("No registered push tokens for this user", status: 400, cleanup.storageMembers)
    }
    return .error("No owned push tokens for this user", status: 400, cleanup.diagnostics)
  }
}
