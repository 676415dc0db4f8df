/// One request, read to its end.
public struct HTTPRequest: Sendable {
  public let method: String
  /// As sent: percent escapes are not decoded.
  public let path: String
  /// Decoded; repeated names are kept in order.
  public let query: [(name: String, value: String)]
  public let headers: HTTPHeaders
  public let body: [UInt8]
  /// The IP address that the connection comes from (an IPv4 address in IPv4 form), without a port; `unix` for a unix socket.
  public let peerAddress: String

  public init(
    method: String, path: String, query: [(name: String, value: String)] = [], headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8] = [], peerAddress: String = HTTPRequest.unixPeer
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.peerAddress = peerAddress
  }

  /// ``peerAddress`` of requests over a unix socket.
  public static let unixPeer = "unix"

  /// The first value of a query item.
  public func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }
}
