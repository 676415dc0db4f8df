/// Where a request's body ends.
enum BodyFraming {
  /// False when a proxy in front might see another end than this server does, and so smuggle a request inside a request
  /// (RFC 9112, 6.1, 6.3 and 11.2).
  static func isUnambiguous(_ headers: HTTPHeaders, isHTTP10: Bool) -> Bool {
    let lengths = headers.values(of: "Content-Length")
    let codings = headers.values(of: "Transfer-Encoding")
    guard !codings.isEmpty else { return lengths.allSatisfy { $0 == lengths[0] && isLength($0) } }
    return !isHTTP10 && lengths.isEmpty && codings.count == 1 && codings[0].lowercased() == "chunked"
  }

  private static func isLength(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
