/// The request target, taken apart.
struct HTTPTarget: Sendable {
  /// As sent, nothing decoded.
  let path: String
  /// Percent-decoded, `+` is a space; repeated names are kept.
  let query: [(name: String, value: String)]

  /// Nil when it is neither a path nor an `http` address, an escape in the query is broken or no UTF-8, or the query has
  /// more items than ``FormEncoding/maximumItems``.
  init?(parsing target: String) {
    guard let target = HTTPTarget.origin(of: target) else { return nil }
    let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    guard let query = FormEncoding.items(of: Substring(target.utf8[mark...].dropFirst())) else { return nil }
    path = String(target[..<mark])
    self.query = query
  }

  /// Without the scheme and the host that proxies are sent: every server takes them too (RFC 9112, 3.2.2).
  private static func origin(of target: String) -> Substring? {
    if target.utf8.first == UInt8(ascii: "/") { return target[...] }
    for scheme in ["http://", "https://"] {
      let count = scheme.utf8.count
      guard target.utf8.prefix(count).elementsEqual(scheme.utf8, by: isSame) else { continue }
      let rest = target.utf8.dropFirst(count)
      guard let path = rest.firstIndex(of: UInt8(ascii: "/")), path != rest.startIndex else { return nil }
      return target[path...]
    }
    return nil
  }

  /// Without regard to case.
  private static func isSame(_ byte: UInt8, _ lowered: UInt8) -> Bool {
    byte == lowered || (byte | 0x20 == lowered && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte))
  }
}
