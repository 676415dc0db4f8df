/// `a=1&b=x%20y`: queries, and bodies of type `application/x-www-form-urlencoded`.
public enum FormEncoding {
  /// In their order, repeated names are kept; a `+` is a space. Nil when an escape is broken or no UTF-8.
  public static func items(of text: some StringProtocol) -> [(name: String, value: String)]? {
    var items: [(name: String, value: String)] = []
    for pair in text.split(separator: "&") {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(sides[0], plusIsSpace: true),
        let value = decoded(sides.count > 1 ? sides[1] : "", plusIsSpace: true)
      else { return nil }
      items.append((name, value))
    }
    return items
  }

  /// Percent escapes are decoded, once. Nil when one is broken, or the whole is no UTF-8.
  public static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard rest.count >= 2, let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init)
  }
}
