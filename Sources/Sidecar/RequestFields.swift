package import JSON
package import PushModel
import Telemetry

/// Checks the fields of requests. Each function takes the value that was sent, or nil.
package enum RequestFields {
  package static let deviceTokenFormat = "Invalid device token format (must be 64-character hex string)"

  /// Characters of a user id.
  private static let userIDLength = 1...256
  /// The length of a device token today.
  private static let hexTokenDigits = 64
  /// The allowed lengths, because Apple may make device tokens longer.
  private static let hexDigits = Charset(of: "0123456789ABCDEFabcdef", length: 20...200, "20 to 200 hexadecimal digits")
  /// The length of a device token with white space and angle brackets.
  private static let maximumTokenTextBytes = 2048

  /// Returns a token of 64 hexadecimal digits.
  package static func hexToken(_ value: String?, _ field: String) throws(Refusal) -> DeviceToken {
    guard let value, hexDigits.accepts(value), value.utf8.count == hexTokenDigits else {
      throw .invalid(field, deviceTokenFormat, field)
    }
    return DeviceToken(value)
  }

  /// Returns a token of 20 to 512 characters. Accepts the description of iOS data, `<abcd 1234 …>`, too.
  package static func anyToken(_ value: String?, _ field: String) throws(Refusal) -> DeviceToken {
    let value = value ?? ""
    let token = value.utf8.count > maximumTokenTextBytes ? "" : value.filter { !"<> ".contains($0) }
    guard DeviceToken.isWellFormed(token) else {
      throw .invalid(field, "Invalid device token", "\(field): expected 20 to 512 letters, digits or any of :_-.")
    }
    return DeviceToken(token)
  }

  /// Returns the user of this id.
  package static func userID(_ value: String?) throws(Refusal) -> Username {
    let id = Username(value ?? "")
    guard userIDLength.contains(id.text.unicodeScalars.count), !id.text.unicodeScalars.contains(where: \.isControl)
    else {
      throw .invalid(
        "userId", "Invalid userId", "userId: expected 1 to 256 characters, not blank, no control characters")
    }
    return id
  }

  /// Returns the id of a user who may be new: one that shows as it is. Users from before, whose names may contain format
  /// characters, are still found.
  package static func newUserID(_ value: String?) throws(Refusal) -> Username {
    let id = try userID(value)
    guard !AbsentValue.isCertain(id.text) else {
      throw .invalid(
        "userId", "Invalid userId", "userId: \(id) is what programs write for no value; send the name of the user")
    }
    guard TerminalText.line(id.text) == id.text else {
      throw .invalid(
        "userId", "Invalid userId",
        "userId: expected no format characters and no line separators, which make a name look like another one")
    }
    return id
  }

  /// Returns nil if the bundle id is missing, null or empty.
  package static func bundleID(_ value: JSONValue?, _ field: String) throws(Refusal) -> String? {
    guard let value, value != .null, value != .string("") else { return nil }
    guard let id = value.string, BundleID.isWellFormed(id), !AbsentValue.isCertain(id) else {
      throw .invalid(
        field, "Invalid bundleId",
        "\(field): expected 1 to 200 letters, digits or any of ._-, and no text for an absent value such as undefined")
    }
    return id
  }

  /// Returns an APNs device token of 20 to 200 hexadecimal digits in lower case, or nil if `text` is not one.
  package static func lowercasedHex(_ text: String) -> String? {
    hexDigits.accepts(text) ? text.lowercased() : nil
  }
}

extension StringProtocol {
  /// The text without surrounding white space, as JavaScript's `trim` returns it.
  package var trimmed: String {
    let scalars = unicodeScalars
    guard scalars.first?.isTrimmed == true || scalars.last?.isTrimmed == true else { return String(self) }
    var start = startIndex
    while start < endIndex, scalars[start].isTrimmed { scalars.formIndex(after: &start) }
    var end = endIndex
    while end > start {
      let last = scalars.index(before: end)
      guard scalars[last].isTrimmed else { break }
      end = last
    }
    return String(self[start..<end])
  }
}

extension Unicode.Scalar {
  fileprivate var isTrimmed: Bool {
    // Most characters are ASCII, for which a comparison is faster than the lookup.
    isASCII ? value == 0x20 || (0x09...0x0D).contains(value) : properties.isWhitespace || self == "\u{FEFF}"
  }
}
