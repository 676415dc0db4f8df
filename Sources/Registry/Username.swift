/// A username as it stands in keys.
public enum Username {
  /// Trimmed and lower-cased; may be empty.
  public static func normalized(_ name: String) -> String {
    if name.utf8.allSatisfy(isPlain) { return name }
    var scalars = name.unicodeScalars[...]
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return String(scalars).lowercased()
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }
}
