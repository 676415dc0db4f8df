/// One request, read to its end.
public struct HTTPRequest: Sendable {
  public let method: String
  /// As sent: percent escapes are not decoded.
  public let path: String
  /// Decoded; repeated names are kept in order.
  public let query: [(name: String, value: String)]
  public let headers: HTTPHeaders
  public let body: [UInt8]

  public init(
    method: String, path: String, query: [(name: String, value: String)] = [], headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  /// The first value of a query item.
  public func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }
}
