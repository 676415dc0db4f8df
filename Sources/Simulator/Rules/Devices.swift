/// The devices whose pushes are refused. A token may be upper or lower case.
struct Devices {
  private var rules: [[UInt8]: DeviceRule] = [:]
  private var bindings: [[UInt8]: TokenBinding] = [:]

  /// The number of rules.
  var count: Int { rules.count }

  /// Sets the rule of a device, or removes it.
  mutating func set(_ rule: DeviceRule?, for token: String) {
    rules[Devices.key(token.utf8)] = rule
  }

  mutating func bind(_ token: String, to binding: TokenBinding) {
    bindings[Devices.key(token.utf8)] = binding
  }

  /// Removes rule and binding.
  mutating func remove(_ token: String) {
    rules[Devices.key(token.utf8)] = nil
    bindings[Devices.key(token.utf8)] = nil
  }

  mutating func removeAll() {
    self = Devices()
  }

  /// Returns the refusal of a token's binding in `environment`, else that of its rule.
  func refusal(of head: RequestHead, in environment: GatewayEnvironment? = nil) -> Answer? {
    guard let token = head.deviceToken else { return nil }
    // No device has this token: programs ask with it whether their key is accepted.
    if token.allSatisfy({ $0 == UInt8(ascii: "0") }) { return Answer(400, "BadDeviceToken") }
    guard !rules.isEmpty || !bindings.isEmpty else { return nil }
    let key = Devices.key(token)
    return bindings[key]?.refusal(topic: head[.topic], in: environment) ?? rules[key]?.refusal(topic: head[.topic])
  }

  static func key(_ token: some Sequence<UInt8>) -> [UInt8] {
    token.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "F") ? $0 | 0x20 : $0 }
  }
}

/// How pushes to a device are refused.
enum DeviceRule: Equatable, Sendable {
  /// The app was removed at this time, unix milliseconds.
  case unregistered(since: Int64)
  case expired(since: Int64)
  case bad
  /// Valid for this topic only.
  case forTopic(String)
  case throttled
  case fixed(Answer)

  func refusal(topic: ArraySlice<UInt8>?) -> Answer? {
    switch self {
    case .unregistered(let since): Answer(410, "Unregistered", timestamp: since)
    case .expired(let since): Answer(410, "ExpiredToken", timestamp: since)
    case .bad: Answer(400, "BadDeviceToken")
    case .forTopic(let own):
      topic?.elementsEqual(own.utf8) == true ? nil : Answer(400, "DeviceTokenNotForTopic")
    case .throttled: Answer(429, "TooManyRequests")
    case .fixed(let answer): answer
    }
  }
}
