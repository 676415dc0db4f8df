/// The form of usernames.
public enum Username {
  /// In Unicode scalars, before trimming.
  public static let length = 1...256

  /// `name` trimmed and lower-cased, as in Redis keys; it may be empty.
  public static func normalized(_ name: String) -> String {
    if name.utf8.span.withUnsafeBufferPointer({ $0.allSatisfy(isPlain) }) { return name }
    var scalars = name.unicodeScalars[...]
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return String(scalars).lowercased()
  }

  /// `name` normalized; nil if it is blank or contains a control character.
  public static func validated(_ name: String) -> String? {
    let username = normalized(name)
    guard !username.isEmpty, !username.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      return nil
    }
    return username
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }
}

extension Unicode.Scalar {
  /// Whether this is a control character: of the general category Cc.
  package var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}
