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

  /// Returns who sent `request`: the right-most address that is not a trusted proxy's. Entries to the left of one that is
  /// not an address are ignored.
  public func clientAddress(of request: HTTPRequest) -> ClientAddress {
    guard let address = address(of: request) else {
      return ClientAddress(client: request.peerAddress, site: request.peerAddress)
    }
    let client = address.client
    return ClientAddress(client: client, site: address.isIPv4 ? client : address.site)
  }

  private func address(of request: HTTPRequest) -> IPAddress? {
    let peer = IPAddress(request.peerAddress)
    guard isTrusted(peer: peer) else { return peer }
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
  func isPeerTrusted(_ address: String) -> Bool { isTrusted(peer: IPAddress(address)) }

  /// `peer` is nil for a unix socket.
  private func isTrusted(peer: IPAddress?) -> Bool { peer.map(isTrusted) ?? areUnixSocketsTrusted }

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

/// The addresses by which the requests of a client are counted.
public struct ClientAddress: Sendable {
  /// The client: its IPv4 address, the /64 of its IPv6 address, or `unix`.
  public let client: String
  /// All who share its site: its IPv4 address, the /56 of its IPv6 address, or `unix`.
  public let site: String
}
