/// The request target, taken apart.
struct HTTPTarget: Sendable {
  /// As sent, nothing decoded.
  let path: String
  /// Percent-decoded, `+` is a space; repeated names are kept.
  let query: [(name: String, value: String)]

  /// Nil when it does not start with `/`, or an escape in the query is broken or no UTF-8.
  init?(parsing target: String) {
    guard target.utf8.first == UInt8(ascii: "/") else { return nil }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts[0])
    var query: [(name: String, value: String)] = []
    for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = HTTPTarget.decoded(sides[0]), let value = HTTPTarget.decoded(sides.count > 1 ? sides[1] : "")
      else { return nil }
      query.append((name, value))
    }
    self.query = query
  }

  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
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
