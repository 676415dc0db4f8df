/// A username as it stands in keys.
public enum Username {
  /// Trimmed and lower-cased; may be empty.
  public static func normalized(_ name: String) -> String {
    if name.utf8.allSatisfy(isPlain) { return name }
    let scalars = name.unicodeScalars
    guard let first = scalars.firstIndex(where: { !isSpace($0) }), let last = scalars.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return name[first..<scalars.index(after: last)].lowercased()
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    // Most are ASCII, which is faster to tell than to look up.
    scalar.isASCII ? scalar.value == 0x20 || (0x09...0x0D).contains(scalar.value) : scalar.properties.isWhitespace
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }
}
