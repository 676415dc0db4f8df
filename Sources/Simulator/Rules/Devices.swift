/// The devices that are not simply good.
struct Devices {
  private var rules: [[UInt8]: DeviceRule] = [:]

  var count: Int { rules.count }

  /// `token` in either case.
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
