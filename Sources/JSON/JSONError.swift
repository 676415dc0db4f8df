/// Why bytes are not the expected JSON. Offsets are bytes from the start of the text.
public enum JSONError: Error, Sendable, Equatable {
  case unexpectedEnd(offset: Int)
  case unexpectedByte(UInt8, offset: Int)
  case trailingByte(UInt8, offset: Int)
  case unterminatedString(offset: Int)
  case controlCharacter(UInt8, offset: Int)
  case invalidEscape(offset: Int)
  case loneSurrogate(offset: Int)
  case invalidUTF8(offset: Int)
  case invalidNumber(offset: Int)
  case numberOutOfRange(offset: Int)
  case duplicateKey(String, offset: Int)
  case tooDeep(offset: Int)
  /// The text is valid up to here but contains another kind of value than expected.
  case mismatch(expected: JSONKind, found: JSONKind, offset: Int)
}

extension JSONError: CustomStringConvertible {
  /// The number of scalars of a key that a description quotes.
  private static let maximumQuoted = 40

  public var description: String {
    switch self {
    case .unexpectedEnd(let offset): "the text ends at byte \(offset), inside a value"
    case .unexpectedByte(let byte, let offset): "unexpected \(JSONError.name(byte)) at byte \(offset)"
    case .trailingByte(let byte, let offset): "unexpected \(JSONError.name(byte)) after the value, at byte \(offset)"
    case .unterminatedString(let offset): "the string that starts at byte \(offset) has no end"
    case .controlCharacter(let byte, let offset):
      "unescaped control \(JSONError.name(byte)) in a string, at byte \(offset)"
    case .invalidEscape(let offset): "invalid escape in a string, at byte \(offset)"
    case .loneSurrogate(let offset): "half of a surrogate pair in a string, at byte \(offset)"
    case .invalidUTF8(let offset): "invalid UTF-8 in the string that starts at byte \(offset)"
    case .invalidNumber(let offset): "invalid number at byte \(offset)"
    case .numberOutOfRange(let offset): "number out of range at byte \(offset)"
    case .duplicateKey(let key, let offset): "duplicate key \"\(JSONError.shortened(key))\" at byte \(offset)"
    case .tooDeep(let offset): "nested deeper than \(JSONReader.maximumDepth) levels at byte \(offset)"
    case .mismatch(let expected, let found, let offset): "expected \(expected), found \(found) at byte \(offset)"
    }
  }

  /// Cuts a long key by scalars, because a character may be as long as the text.
  private static func shortened(_ key: String) -> String {
    let start = key.unicodeScalars.prefix(maximumQuoted)
    return start.endIndex == key.endIndex ? key : String(start) + "…"
  }

  private static func name(_ byte: UInt8) -> String {
    guard byte > 0x20, byte < 0x7F else { return "byte 0x\(String(byte, radix: 16))" }
    return "character '\(Unicode.Scalar(byte))'"
  }
}

/// The kind of a value, determined by its first byte.
public enum JSONKind: Sendable, Equatable {
  case null, bool, number, string, array, object
  /// A number without fraction. Occurs only as an expected kind.
  case integer
}

extension JSONKind: CustomStringConvertible {
  /// The name with its article, such as `a string`.
  public var description: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .integer: "an integer"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
