import EventLoop
import HTTPClient

/// `POST /live-activities`, one object or an array of them:
///
/// - `{"deviceId":"phone","bundleId":"com.example.app","username":"anna","bearer":"…","sidecar":"http://127.0.0.1:8080",
///   "startTokens":{"Ride":"…"}}` adds a device, or replaces it. `startTokens`: its push-to-start tokens by attributes type.
///   `maxDelayMs` (0) bounds the time until it reports an update token; `seed` (0) chooses it.
/// - `{"deviceId":"phone","online":false}`
/// - `{"deviceId":"phone","rotate":"ride-7"}` replaces the update tokens of an activity.
enum LiveActivityCommand {
  case add(LiveDevice, startTokens: [String: String])
  case setOnline(String, Bool)
  case rotate(String, activity: String)

  init(_ command: inout Command, _ environment: GatewayEnvironment) throws(ControlError) {
    let deviceID = try LiveActivityCommand.text("deviceId", &command)
    if let isOnline = try command.bool("online") {
      self = .setOnline(deviceID, isOnline)
    } else if let activity = try command.string("rotate") {
      self = .rotate(deviceID, activity: activity)
    } else {
      let owner = try LiveActivityCommand.owner(deviceID, environment, &command)
      let delay = try command.integer("maxDelayMs", in: 0...86_400_000) ?? 0
      let seed = try command.integer("seed", in: 0...Int64.max) ?? 0
      self = .add(
        LiveDevice(owner, seed: UInt64(seed), maximumDelay: Int(delay)),
        startTokens: try LiveActivityCommand.tokens(&command))
    }
    try command.end()
  }

  private static func owner(
    _ deviceID: String, _ environment: GatewayEnvironment, _ command: inout Command
  ) throws(ControlError) -> LiveDevice.Owner {
    let sidecar = try command.string("sidecar")
    do throws(HTTPClientError) {
      if let sidecar { try HTTPCall.check(url: sidecar) }
    } catch {
      throw ControlError("\"sidecar\": \(error)")
    }
    let (username, bearer) = (try text("username", &command), try command.string("bearer") ?? "")
    guard HTTPCall.isHeader(value: username), HTTPCall.isHeader(value: bearer) else {
      throw ControlError("\"username\" and \"bearer\" must not contain a line end")
    }
    return LiveDevice.Owner(
      deviceID: deviceID, username: username, bearer: bearer, bundleID: try text("bundleId", &command),
      environment: environment, sidecar: sidecar)
  }

  private static func tokens(_ command: inout Command) throws(ControlError) -> [String: String] {
    let tokens = try command.texts("startTokens") ?? [:]
    guard tokens.values.allSatisfy({ PushRules.isDeviceToken(Array($0.utf8)[...]) }) else {
      throw ControlError("\"startTokens\": a token is not 64 to 200 hexadecimal digits")
    }
    return tokens
  }

  private static func text(_ name: String, _ command: inout Command) throws(ControlError) -> String {
    guard let text = try command.string(name), !text.isEmpty else { throw ControlError("a \"\(name)\" is missing") }
    return text
  }

  @EventLoop
  func apply(to gateway: Gateway, now: Int64) throws(ControlError) {
    switch self {
    case .add(let device, let startTokens):
      guard gateway.liveDevices.add(device, startTokens: startTokens) else {
        throw ControlError("there are \(LiveDevices.maximumDevices) devices already")
      }
    case .setOnline(let deviceID, let isOnline):
      try check(deviceID, gateway)
      gateway.reporter.schedule(gateway.liveDevices.setOnline(isOnline, deviceID, now: now))
    case .rotate(let deviceID, let activity):
      try check(deviceID, gateway)
      gateway.reporter.schedule(gateway.liveDevices.rotateTokens(of: activity, on: deviceID, now: now))
    }
  }

  @EventLoop
  private func check(_ deviceID: String, _ gateway: Gateway) throws(ControlError) {
    guard gateway.liveDevices.devices[deviceID] != nil else { throw ControlError("there is no device \"\(deviceID)\"") }
  }
}
