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

  /// Returns a token of 64 hexadecimal digits, or of their bytes in another form.
  package static func hexToken(_ value: String?, _ field: String) throws(Refusal) -> DeviceToken {
    let token = try apnsToken(value, field, deviceTokenFormat)
    guard token.text.utf8.count == hexTokenDigits else {
      throw .invalid(
        field, deviceTokenFormat,
        "\(field): expected \(hexTokenDigits) hexadecimal digits, not \(token.text.utf8.count)")
    }
    return token
  }

  /// Returns a token of APNs, which may be written in any form.
  package static func apnsToken(
    _ value: String?, _ field: String, _ error: String = "Invalid device token"
  ) throws(Refusal) -> DeviceToken {
    do throws(TokenFault) {
      return try DeviceToken(apns: value ?? "")
    } catch let fault {
      throw .invalid(field, error, "\(field): \(fault.rawValue)")
    }
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
    if let value, AbsentValue.isCertain(value) {
      throw .invalid(
        "userId", "Invalid userId",
        "userId: \(value.trimmed) is what programs write for no value; send the name of the user")
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
