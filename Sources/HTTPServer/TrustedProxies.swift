/// The proxies whose `X-Forwarded-For` is trusted.
public struct TrustedProxies: Sendable, Equatable {
  public static let expected = "addresses or CIDR blocks (10.0.0.0/8, 2001:db8::/32), or unix, separated by commas"

  /// The peer of a unix socket.
  private static let unixSocket = HTTPRequest.unixPeer
  private static let header = "X-Forwarded-For"
  /// The number of entries that are read.
  private static let maximumHops = 32

  private var ranges: [AddressRange] = []
  private var areUnixSocketsTrusted = false

  public init() {}

  /// Adds an address, a CIDR block, or `unix` for clients of a unix socket. Returns false for any other text.
  public mutating func add(_ text: String) -> Bool {
    if text == TrustedProxies.unixSocket {
      areUnixSocketsTrusted = true
    } else if let range = AddressRange(text) {
      ranges.append(range)
    } else {
      return false
    }
    return true
  }

  /// Returns the client that sent `request`: the right-most address that is not a trusted proxy's. Entries to the left of one
  /// that is not an address are ignored.
  public func client(of request: HTTPRequest) -> String { address(of: request)?.client ?? request.peerAddress }

  /// Returns the site of the client that sent `request`: its IPv4 address, or the /56 of its IPv6 address.
  public func site(of request: HTTPRequest) -> String { address(of: request)?.site ?? request.peerAddress }

  private func address(of request: HTTPRequest) -> IPAddress? {
    let peer = IPAddress(request.peerAddress)
    guard areTrusted(in: request) else { return peer }
    var client = peer
    for entry in entries(request.headers).reversed().prefix(TrustedProxies.maximumHops) {
      guard let address = IPAddress(forwarded: TrustedProxies.trimmed(entry)) else { break }
      client = address
      guard isTrusted(address) else { break }
    }
    return client
  }

  /// Whether the request comes directly from a trusted proxy, so that the header fields that proxies add are its own.
  public func areTrusted(in request: HTTPRequest) -> Bool { isPeerTrusted(request.peerAddress) }

  /// `address` is one of ``HTTPRequest/peerAddress``.
  func isPeerTrusted(_ address: String) -> Bool {
    IPAddress(address).map(isTrusted) ?? areUnixSocketsTrusted
  }

  private static func trimmed(_ entry: Substring) -> Substring {
    let start = entry.drop { $0 == " " || $0 == "\t" }
    return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? start[..<start.startIndex]
  }

  private func isTrusted(_ address: IPAddress) -> Bool {
    ranges.contains { $0.contains(address) }
  }

  private func entries(_ headers: HTTPHeaders) -> [Substring] {
    headers.values(of: TrustedProxies.header).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
  }
}
