import Credentials
import EventLoop
import HTTPServer
import JSON
import Redis
import Registry
import Telemetry

extension PushAPI {
  func register(
    _ body: [UInt8], for username: String, _ registry: Registry
  ) async throws(RedisError) -> HTTPResponse {
    let wanted: RegisterRequest
    do { wanted = try RegisterRequest(body) } catch { return .error(error.text, status: 400) }
    if let seconds = try await access?.wait(.registration, of: "user:" + username) {
      return .tooManyRequests(after: seconds)
    }
    let previous = try await registry.register(
      Registration(
        token: wanted.token, username: username, platform: wanted.platform, bundleID: configuration.bundleID,
        environment: configuration.registrationEnvironment, now: Clock.unixMilliseconds))
    if let previous {
      log.info(
        "a device changed hands",
        ["token": .init(Log.shortened(wanted.token)), "from": .init(previous), "to": .init(username)])
    }
    return .json(
      .object([
        JSONMember(key: "success", value: .bool(true)), JSONMember(key: "token", value: .string(wanted.token)),
        JSONMember(key: "platform", value: .string(wanted.platform.rawValue)),
      ]))
  }
}
