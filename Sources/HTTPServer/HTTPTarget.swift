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
    guard let query = FormEncoding.items(of: parts.count > 1 ? parts[1] : "") else { return nil }
    path = String(parts[0])
    self.query = query
  }
}
