/// The request target, taken apart.
struct HTTPTarget: Sendable {
  /// As sent, nothing decoded.
  let path: String
  /// Percent-decoded, `+` is a space; repeated names are kept.
  let query: [(name: String, value: String)]

  /// Nil when it is neither a path nor an `http` address, or an escape in the query is broken or no UTF-8.
  init?(parsing target: String) {
    guard let target = HTTPTarget.origin(of: target) else { return nil }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let query = FormEncoding.items(of: parts.count > 1 ? parts[1] : "") else { return nil }
    path = String(parts[0])
    self.query = query
  }

  /// Without the scheme and the host that proxies are sent: every server takes them too (RFC 9112, 3.2.2).
  private static func origin(of target: String) -> Substring? {
    if target.utf8.first == UInt8(ascii: "/") { return target[...] }
    guard let colon = target.firstIndex(of: ":"), ["http", "https"].contains(target[..<colon].lowercased()),
      target[colon...].hasPrefix("://")
    else { return nil }
    let rest = target[colon...].dropFirst(3)
    guard let path = rest.firstIndex(of: "/"), path != rest.startIndex else { return nil }
    return rest[path...]
  }
}
