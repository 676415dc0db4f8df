/// A complete request.
public struct HTTPRequest: Sendable {
  public let method: String
  /// The path as sent, with its percent escapes.
  public let path: String
  /// The decoded items in their order, with repeated names.
  public let query: [(name: String, value: String)]
  public let headers: HTTPHeaders
  public internal(set) var body: [UInt8]
  /// Where the connection comes from.
  public let peer: ClientAddress

  public init(
    method: String, path: String, query: [(name: String, value: String)] = [], headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8] = [], peer: ClientAddress = .unixSocket
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.peer = peer
  }

  /// Returns the first value of a query item.
  public func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }
}

/// Header fields in the order of the request, with repeated ones. Names are in lower case, also those that are looked up.
public struct HTTPHeaders: Sendable {
  public private(set) var fields: [(name: String, value: String)] = []

  public init(_ fields: [(name: String, value: String)] = []) {
    for (name, value) in fields { append(name, value) }
  }

  public mutating func append(_ name: String, _ value: String) {
    fields.append((name.lowercased(), value))
  }

  /// The first value of a field.
  public subscript(name: String) -> String? {
    assert(name == name.lowercased())
    return fields.first { $0.name == name }?.value
  }

  /// Returns all values of a field.
  public func values(of name: String) -> [String] {
    assert(name == name.lowercased())
    return fields.compactMap { $0.name == name ? $0.value : nil }
  }
}

/// The path and the query of a request target.
struct HTTPTarget: Sendable {
  /// The path as sent, with its percent escapes.
  let path: String
  /// The decoded items, with repeated names.
  let query: [(name: String, value: String)]

  /// Returns nil if `target` is neither a path nor an `http` address, or if ``FormEncoding/items(of:)`` cannot read the query.
  init?(parsing target: String) {
    guard let target = HTTPTarget.origin(of: target) else { return nil }
    let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    guard let query = FormEncoding.items(of: Substring(target.utf8[mark...].dropFirst())) else { return nil }
    path = String(target[..<mark])
    self.query = query
  }

  /// Removes the scheme and the host. They are meant for proxies, but every server must accept them (RFC 9112, 3.2.2).
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

  /// Compares letters without regard to case.
  private static func isSame(_ byte: UInt8, _ lowered: UInt8) -> Bool {
    byte == lowered || (byte | 0x20 == lowered && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte))
  }
}
