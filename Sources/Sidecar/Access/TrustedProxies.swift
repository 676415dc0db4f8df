import HTTPServer

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
  func client(of request: HTTPRequest) -> String {
    let peer = IPAddress(request.peerAddress)
    guard peer.map(isTrusted) ?? areUnixSocketsTrusted else {
      return peer?.client ?? request.peerAddress
    }
    var client = peer
    for entry in entries(request.headers).reversed().prefix(TrustedProxies.maximumHops) {
      guard let address = IPAddress(forwarded: entry.trimmed) else { break }
      client = address
      guard isTrusted(address) else { break }
    }
    return client?.client ?? request.peerAddress
  }

  private func isTrusted(_ address: IPAddress) -> Bool {
    ranges.contains { $0.contains(address) }
  }

  private func entries(_ headers: HTTPHeaders) -> [Substring] {
    headers.values(of: TrustedProxies.header).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
  }
}
