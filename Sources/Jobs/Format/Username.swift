/// A username as it stands in keys: trimmed and lower-cased.
enum Username {
  /// Unicode scalars, before trimming.
  static let length = 1...256

  /// Nil when nothing is left, or a control character stands inside.
  static func normalized(_ name: String) -> String? {
    if name.utf8.allSatisfy(isPlain) { return name.isEmpty ? nil : name }
    var scalars = name.unicodeScalars[...]
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    guard !scalars.isEmpty, !scalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else { return nil }
    return String(scalars).lowercased()
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "@"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
