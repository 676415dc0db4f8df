import HTTPServer

/// The proxies whose `X-Forwarded-For` is believed.
public struct TrustedProxies: Sendable, Equatable {
  public static let expected = "addresses or CIDR blocks (10.0.0.0/8, 2001:db8::/32), or unix, separated by commas"

  /// The peer of a unix socket.
  private static let unixSocket = HTTPRequest.unixPeer
  private static let header = "X-Forwarded-For"
  /// Entries that are looked at.
  private static let maximumHops = 32

  private var ranges: [AddressRange] = []
  private var areUnixSocketsTrusted = false

  public init() {}

  /// Adds `text`: an address, a CIDR block, or `unix` for who connects over a unix socket. False when it is none of them.
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

  /// Who sent `request`, as failures are counted: the right-most address that is not a trusted proxy's. What stands left of an
  /// entry that is no address counts for nothing.
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
