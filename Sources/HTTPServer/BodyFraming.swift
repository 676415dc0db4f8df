/// Where a request's body ends.
enum BodyFraming {
  /// False when a proxy in front might see another end than this server does, and so smuggle a request inside a request
  /// (RFC 9112, 6.3 and 11.2).
  static func isUnambiguous(_ headers: HTTPHeaders) -> Bool {
    let lengths = headers.values(of: "Content-Length")
    let codings = headers.values(of: "Transfer-Encoding")
    guard !codings.isEmpty else { return lengths.allSatisfy { $0 == lengths[0] } }
    return lengths.isEmpty && codings.count == 1 && codings[0].lowercased() == "chunked"
  }
}
