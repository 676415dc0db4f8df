/// `POST /devices`: `{"token":"…","rule":"unregistered","since":1700000000000}`, or an array of these.
///
/// `{"token":"…","rule":"bound","environment":"sandbox","bundleId":"com.example.app","kind":"voip"}` says what the token was made
/// for; `kind` is `app` if it is absent. A token may have a binding and another rule; `good` removes that other rule.
struct DeviceCommand: Equatable {
  let token: String
  /// Nil (rule `good`) removes the rule of the device.
  let rule: DeviceRule?
  /// Of rule `bound`, which leaves another rule as it is.
  let binding: TokenBinding?

  /// `now`, in unix milliseconds, is the default of `since`.
  init(_ command: inout Command, now: Int64) throws(ControlError) {
    guard let token = try command.string("token") else { throw ControlError("a \"token\" is missing") }
    self.token = token
    let name = try command.string("rule") ?? ""
    binding = name == "bound" ? try DeviceCommand.binding(of: token, &command) : nil
    switch name {
    case "bound": rule = nil
    case "good": rule = nil
    case "unregistered": rule = .unregistered(since: try DeviceCommand.since(&command) ?? now)
    case "expired": rule = .expired(since: try DeviceCommand.since(&command) ?? now)
    case "bad": rule = .bad
    case "throttled": rule = .throttled
    case "forTopic":
      guard let topic = try command.string("topic") else { throw ControlError("rule forTopic needs a \"topic\"") }
      rule = .forTopic(topic)
    case "fixed": rule = .fixed(try command.answer())
    default:
      throw ControlError(
        "unknown rule \"\(name)\": good, unregistered, expired, bad, forTopic, throttled, fixed or bound")
    }
    try command.end()
  }

  private static func binding(of token: String, _ command: inout Command) throws(ControlError) -> TokenBinding {
    guard PushRules.isDeviceToken(Array(token.utf8)[...]) else {
      throw ControlError("\"token\": \"\(token)\" is not a device token: expected 64 to 200 hexadecimal digits")
    }
    guard let environment = try command.choice("environment", of: GatewayEnvironment.self),
      let bundleID = try command.string("bundleId"), !bundleID.isEmpty
    else { throw ControlError("rule bound needs an \"environment\" and a \"bundleId\"") }
    let kind = try command.choice("kind", of: TokenKind.self) ?? .app
    return TokenBinding(environment: environment, bundleID: bundleID, kind: kind)
  }

  func apply(to devices: inout Devices) {
    if let binding { devices.bind(token, to: binding) } else { devices.set(rule, for: token) }
  }

  private static func since(_ command: inout Command) throws(ControlError) -> Int64? {
    try command.integer("since", in: 0...(1 << 53))
  }
}
