import JSON

/// The body of `/api/push/test`.
struct TestRequest: Equatable {
  static let defaultTitle = "ryOS test notification"
  static let defaultBody = "Push notifications are working 🎉"
  private static let defaultSound = "default"

  /// UTF-16 units, as JavaScript counts.
  private static let maximumTitle = 120
  private static let maximumBody = 512
  private static let maximumSound = 64
  private static let maximumDataBytes = 2048
  private static let badges = 0...9999 as ClosedRange<Double>

  let title: String
  let body: String
  /// Only this device; nil: all of the user's.
  let token: String?
  let badge: Int64?
  let sound: String?
  /// An object.
  let data: JSONValue?

  init(_ bytes: [UInt8]) throws(BadRequest) {
    let body = try PushBody(bytes)
    let title = try body.string("title", BadRequest(text: "Title must be a string")) ?? ""
    let text = try body.string("body", BadRequest(text: "Body must be a string")) ?? ""
    _ = try body.string("token", .invalidToken)
    let sound = try body.string("sound", BadRequest(text: "Sound must be a string")) ?? ""
    guard title.utf16.count <= TestRequest.maximumTitle else {
      throw BadRequest(text: "Notification title is too long (max \(TestRequest.maximumTitle) characters)")
    }
    guard text.utf16.count <= TestRequest.maximumBody else {
      throw BadRequest(text: "Notification body is too long (max \(TestRequest.maximumBody) characters)")
    }
    self.title = title.isEmpty ? TestRequest.defaultTitle : title
    self.body = text.isEmpty ? TestRequest.defaultBody : text
    token = try body.token()
    badge = try body["badge"].map(TestRequest.badge)
    guard sound.utf16.count <= TestRequest.maximumSound else {
      throw BadRequest(text: "Sound value is too long (max \(TestRequest.maximumSound) characters)")
    }
    self.sound = sound.isEmpty ? nil : sound
    data = try body["data"].map(TestRequest.data)
  }

  /// `1.0` and `1e2` are integers, as in JavaScript.
  private static func badge(_ value: JSONValue) throws(BadRequest) -> Int64 {
    let number: Double
    switch value {
    case .integer(let integer): number = Double(integer)
    case .number(let double) where double.rounded() == double: number = double
    default: throw BadRequest(text: "Badge must be an integer")
    }
    guard badges.contains(number) else { throw BadRequest(text: "Badge must be between 0 and 9999") }
    return Int64(number)
  }

  private static func data(_ value: JSONValue) throws(BadRequest) -> JSONValue {
    guard value.members != nil else { throw BadRequest(text: "Data payload must be a JSON object") }
    guard value.bytes.count <= maximumDataBytes else {
      throw BadRequest(text: "Data payload is too large (max \(maximumDataBytes) bytes)")
    }
    return value
  }

  /// What APNs gets; `data` stays under its own key.
  var payload: [UInt8] {
    let alert = [JSONMember(key: "title", value: .string(title)), JSONMember(key: "body", value: .string(body))]
    var aps = [JSONMember(key: "alert", value: .object(alert))]
    if let badge { aps.append(JSONMember(key: "badge", value: .integer(badge))) }
    aps.append(JSONMember(key: "sound", value: .string(sound ?? TestRequest.defaultSound)))
    var members = [JSONMember(key: "aps", value: .object(aps))]
    if let data { members.append(JSONMember(key: "data", value: data)) }
    return JSONValue.object(members).bytes
  }
}
