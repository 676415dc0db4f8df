package import JSON
package import PushModel
package import Registry

/// The body of a request to the push API. No body counts as `{}`.
package struct PushBody {
  private let object: JSONValue

  package init(_ bytes: [UInt8]) throws(Refusal) {
    object = bytes.isEmpty ? .object([]) : try RequestBody.object(bytes)
  }

  /// Null is the same as leaving the field out.
  package subscript(key: String) -> JSONValue? { object[key].flatMap { $0 == .null ? nil : $0 } }

  package func traits() throws(Refusal) -> DeviceTraits { try DeviceTraits(object) }

  /// Returns the string trimmed, or nil if it is missing. Throws `error` if the value is not a string.
  package func string(_ key: String, _ error: Refusal) throws(Refusal) -> String? {
    guard let value = self[key] else { return nil }
    guard let string = value.string else { throw error }
    return string.trimmed
  }

  /// Returns what the token of the request may be registered as, or nothing if it is missing: the token of APNs that the text is, and
  /// the text, which a device of android keeps. Throws 400 if it is malformed.
  package func tokens() throws(Refusal) -> [DeviceToken] {
    guard let text = try string("token", .invalidToken) else { return [] }
    guard DeviceToken.isWellFormed(text) else { throw .invalidToken }
    let (token, verbatim) = (DeviceToken(apnsOrOther: text), DeviceToken(text))
    return token == verbatim ? [token] : [token, verbatim]
  }

  /// Returns the token of APNs, or nil if it is missing.
  package func apnsToken() throws(Refusal) -> DeviceToken? {
    guard let token = try string("token", .invalidToken) else { return nil }
    return try RequestFields.apnsToken(token, "token", Refusal.invalidToken.error)
  }
}

/// The body of `/api/push/register`. Any well-formed text is taken, as the document says: nothing is sent to one that is no token of
/// APNs.
package struct RegisterRequest: Equatable {
  private static let unsupportedPlatform = Refusal.invalid("platform", "Unsupported push platform")

  package let token: DeviceToken
  package let platform: Platform
  package let traits: DeviceTraits

  package init(_ bytes: [UInt8]) throws(Refusal) {
    let body = try PushBody(bytes)
    guard let token = try body.string("token", .invalidToken), !token.isEmpty else {
      throw .invalid("token", "Push token is required")
    }
    guard DeviceToken.isWellFormed(token) else { throw .invalidToken }
    let name = try body.string("platform", RegisterRequest.unsupportedPlatform) ?? Platform.ios.rawValue
    guard let platform = Platform(rawValue: name.lowercased()) else { throw RegisterRequest.unsupportedPlatform }
    self.token = platform == .ios ? DeviceToken(apnsOrOther: token) : DeviceToken(token, of: platform)
    self.platform = platform
    traits = try body.traits()
  }
}

extension DeviceToken {
  /// The token of APNs that a well-formed text is, or the text.
  fileprivate init(apnsOrOther text: String) { self = (try? DeviceToken(apns: text)) ?? DeviceToken(text) }
}

extension Refusal {
  fileprivate static let invalidToken = Refusal.invalid("token", "Invalid push token format")
}

/// The body of `/api/push/test`.
package struct TestRequest: Equatable {
  package static let defaultTitle = "ryOS test notification"
  package static let defaultBody = "Push notifications are working 🎉"
  private static let defaultSound = "default"

  /// Lengths in UTF-16 units, as JavaScript counts them.
  private static let maximumTitle = 120
  private static let maximumBody = 512
  private static let maximumSound = 64
  private static let maximumDataBytes = 2048
  private static let badges: ClosedRange<Int64> = 0...9999

  package let title: String
  package let body: String
  /// As ``PushBody/tokens()``; empty for all devices of the user.
  package let tokens: [DeviceToken]
  package let badge: Int64?
  package let sound: String?
  /// A JSON object.
  package let data: JSONValue?

  package init(_ bytes: [UInt8]) throws(Refusal) {
    let body = try PushBody(bytes)
    let title = try body.string("title", .invalid("title", "Title must be a string")) ?? ""
    let text = try body.string("body", .invalid("body", "Body must be a string")) ?? ""
    _ = try body.string("token", .invalidToken)
    let sound = try body.string("sound", .invalid("sound", "Sound must be a string")) ?? ""
    guard title.utf16.count <= TestRequest.maximumTitle else {
      throw .invalid("title", "Notification title is too long (max \(TestRequest.maximumTitle) characters)")
    }
    guard text.utf16.count <= TestRequest.maximumBody else {
      throw .invalid("body", "Notification body is too long (max \(TestRequest.maximumBody) characters)")
    }
    self.title = title.isEmpty ? TestRequest.defaultTitle : title
    self.body = text.isEmpty ? TestRequest.defaultBody : text
    tokens = try body.tokens()
    badge = try body["badge"].map(TestRequest.badge)
    guard sound.utf16.count <= TestRequest.maximumSound else {
      throw .invalid("sound", "Sound value is too long (max \(TestRequest.maximumSound) characters)")
    }
    self.sound = sound.isEmpty ? nil : sound
    data = try body["data"].map(TestRequest.data)
  }

  /// Accepts `1.0` and `1e2` as integers, as JavaScript does.
  private static func badge(_ value: JSONValue) throws(Refusal) -> Int64 {
    guard let number = value.number(in: -Double.infinity...Double.infinity), number.rounded() == number else {
      throw .invalid("badge", "Badge must be an integer")
    }
    guard let badge = number.integer(in: badges) else { throw .invalid("badge", "Badge must be between 0 and 9999") }
    return badge
  }

  private static func data(_ value: JSONValue) throws(Refusal) -> JSONValue {
    guard value.members != nil else { throw .invalid("data", "Data payload must be a JSON object") }
    guard value.bytes.count <= maximumDataBytes else {
      throw .invalid("data", "Data payload is too large (max \(maximumDataBytes) bytes)")
    }
    return value
  }

  /// The payload for APNs. `data` is sent under the key `data`.
  package var payload: [UInt8] {
    let aps: JSONObject = [
      "alert": ["title": title, "body": body] as JSONObject, "badge": badge, "sound": sound ?? TestRequest.defaultSound,
    ]
    let payload: JSONObject = ["aps": aps, "data": data]
    return payload.bytes
  }
}
