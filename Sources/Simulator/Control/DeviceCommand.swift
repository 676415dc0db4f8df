/// `POST /devices`: `{"token":"…","rule":"unregistered","since":1700000000000}`, or an array of such.
struct DeviceCommand: Equatable {
  let token: String
  /// Nil (rule `good`) takes an earlier rule away.
  let rule: DeviceRule?

  /// `now`, unix milliseconds, stands for an absent `since`.
  static func list(_ body: [UInt8], now: Int64) throws(ControlError) -> [DeviceCommand] {
    var commands: [DeviceCommand] = []
    for var command in try Command.list(body) { commands.append(try DeviceCommand(&command, now: now)) }
    return commands
  }

  private init(_ command: inout Command, now: Int64) throws(ControlError) {
    guard let token = try command.string("token") else { throw ControlError("a \"token\" is missing") }
    self.token = token
    let name = try command.string("rule") ?? ""
    switch name {
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
      throw ControlError("unknown rule \"\(name)\": good, unregistered, expired, bad, forTopic, throttled or fixed")
    }
    try command.end()
  }

  private static func since(_ command: inout Command) throws(ControlError) -> Int64? {
    try command.integer("since", in: 0...(1 << 53))
  }
}
