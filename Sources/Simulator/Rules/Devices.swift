/// The devices whose pushes are refused.
struct Devices {
  private var rules: [[UInt8]: DeviceRule] = [:]

  var count: Int { rules.count }

  /// Sets the rule of a device. `token` may be upper or lower case.
  mutating func set(_ rule: DeviceRule, for token: String) {
    rules[Devices.key(token.utf8)] = rule
  }

  mutating func remove(_ token: String) {
    rules[Devices.key(token.utf8)] = nil
  }

  mutating func removeAll() {
    rules = [:]
  }

  func refusal(of head: RequestHead) -> Answer? {
    guard !rules.isEmpty, let token = head.deviceToken else { return nil }
    return rules[Devices.key(token)]?.refusal(topic: head[.topic])
  }

  private static func key(_ token: some Sequence<UInt8>) -> [UInt8] {
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
