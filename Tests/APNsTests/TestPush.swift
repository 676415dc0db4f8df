import EventLoop

@testable import APNs
@testable import PushModel

/// Pushes for tests that differ only in their apns-id.
@EventLoop
enum TestPush {
  static let token = String(repeating: "ab", count: 32)
  static let payload = Array(#"{"aps":{"alert":"hello"}}"#.utf8)

  static func id(_ number: Int) -> String {
    let digits = String(number)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  static func make(
    _ number: Int = 1, token: String = token, topic: String = "com.example.demo", pushType: PushType = .alert,
    priority: Int? = nil, expiration: Int64? = nil, collapseID: String? = nil, apnsID: String? = nil,
    payload: [UInt8] = payload, owner: PushOwner? = nil, environment: PushEnvironment = .production,
    evidence: TokenEvidence = TokenEvidence(ofEnvironment: true, ofTopic: true),
    completion: @escaping @EventLoop (SendOutcome) -> Void = { _ in }
  ) -> Push {
    let message = Push.Message(
      payload: payload, pushType: pushType, priority: priority, expiration: expiration, collapseID: collapseID)
    return Push(
      token: token, apnsID: apnsID ?? id(number),
      shared: SharedContent(message: message, topic: topic, environment: environment), owner: owner, evidence: evidence,
      completion: completion)
  }
}
