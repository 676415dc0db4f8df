import JSON

/// Apple's rules for a push, except those about its device and its provider token.
struct PushRules {
  static let maximumCollapseID = 64
  /// Hexadecimal digits.
  static let deviceTokenLength = 64...1024

  /// Nil allows every topic.
  var topics: Set<String>?

  /// Returns the refusal of method and path; nil if they are valid.
  func refusalOfTarget(_ head: RequestHead) -> Answer? {
    guard let method = head[.method], method.elementsEqual("POST".utf8) else { return Answer(405, "MethodNotAllowed") }
    guard let token = head.deviceToken else { return Answer(404, "BadPath") }
    if head.hasDuplicates { return Answer(400, "DuplicateHeaders") }
    return token.isEmpty ? Answer(400, "MissingDeviceToken") : nil
  }

  /// Returns the refusal of header fields and device token; nil if they are valid.
  func refusalOfFields(_ head: RequestHead) -> Answer? {
    if let id = head[.apnsID], PushID(id) == nil { return Answer(400, "BadMessageId") }
    if let type = head[.pushType], PushType(type) == nil { return Answer(400, "InvalidPushType") }
    if let refusal = refusalOfPriority(head) ?? refusalOfTopic(head) { return refusal }
    if let date = head[.expiration], !PushRules.isValidExpiration(date, type(of: head)) {
      return Answer(400, "BadExpirationDate")
    }
    if let id = head[.collapseID], id.count > PushRules.maximumCollapseID { return Answer(400, "BadCollapseId") }
    return head.deviceToken.map(PushRules.isDeviceToken) == true ? nil : Answer(400, "BadDeviceToken")
  }

  /// Returns the refusal of a body of `count` bytes; nil if it is valid. `isObject`: whether it is one JSON object.
  func refusal(ofBody count: Int, isObject: Bool, head: RequestHead) -> Answer? {
    if count == 0 { return Answer(400, "PayloadEmpty") }
    let type = type(of: head)
    if count > type.maximumPayload { return Answer(413, "PayloadTooLarge") }
    return isObject ? nil : Answer(400, "BadPayload")
  }

  /// Returns the refusal of a body that is valid as such: widgets and controls are told only that their content has changed,
  /// and a Live Activity has fields that it needs.
  func refusal(ofContent body: [UInt8], head: RequestHead) -> Answer? {
    let isValid =
      switch type(of: head) {
      case .widgets, .controls:
        (try? JSONValue(parsing: body))?["aps"]?["content-changed"]?.bool == true
      case .liveactivity: LiveActivityPayload(parsing: body) != nil
      default: true
      }
    return isValid ? nil : Answer(400, "BadPayload")
  }

  private func type(of head: RequestHead) -> PushType { head[.pushType].flatMap { PushType($0) } ?? .alert }

  private func refusalOfPriority(_ head: RequestHead) -> Answer? {
    // Absent means 10.
    let priority = head[.priority] ?? Array("10".utf8)[...]
    let isValid = type(of: head).priorities.contains { priority.elementsEqual($0.utf8) }
    return isValid ? nil : Answer(400, "BadPriority")
  }

  private func refusalOfTopic(_ head: RequestHead) -> Answer? {
    guard let topic = head[.topic], !topic.isEmpty else { return Answer(400, "MissingTopic") }
    if let topics, !topics.contains(String(decoding: topic, as: UTF8.self)) { return Answer(400, "TopicDisallowed") }
    let suffix = type(of: head).topicSuffix
    let end = UnsafeBufferPointer(start: suffix.utf8Start, count: suffix.utf8CodeUnitCount)
    return topic.suffix(end.count).elementsEqual(end) ? nil : Answer(400, "BadTopic")
  }

  static func isDeviceToken(_ token: ArraySlice<UInt8>) -> Bool {
    deviceTokenLength.contains(token.count) && token.count.isMultiple(of: 2)
      && token.allSatisfy { PushID.digit($0) != nil }
  }

  private static func isValidExpiration(_ text: ArraySlice<UInt8>, _ type: PushType) -> Bool {
    // A voice that was heard later would be of no use.
    type == .pushtotalk ? text.elementsEqual("0".utf8) : isInteger(text)
  }

  /// Digits that fit 64 bits.
  static func isInteger(_ text: ArraySlice<UInt8>) -> Bool {
    (1...19).contains(text.count) && text.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
  }
}

/// The values of `apns-push-type`, and their rules.
enum PushType: String, CaseIterable {
  case alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, controls, widgets, mdm

  init?(_ bytes: ArraySlice<UInt8>) {
    guard let type = PushType.allCases.first(where: { bytes.elementsEqual($0.rawValue.utf8) }) else { return nil }
    self = type
  }

  /// The required end of the topic.
  var topicSuffix: StaticString {
    switch self {
    case .alert, .background, .mdm: ""
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .controls: ".push-type.controls"
    case .widgets: ".push-type.widgets"
    }
  }

  /// The valid values of `apns-priority`.
  var priorities: [String] {
    switch self {
    case .background: ["5"]
    case .pushtotalk: ["10"]
    case .liveactivity, .location: ["5", "10"]
    default: ["1", "5", "10"]
    }
  }

  /// Bytes.
  var maximumPayload: Int {
    self == .voip ? 5120 : 4096
  }
}
