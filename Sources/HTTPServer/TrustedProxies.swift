/// The proxies whose `X-Forwarded-For` is trusted.
public struct TrustedProxies: Sendable, Equatable {
  public static let expected = "addresses or CIDR blocks (10.0.0.0/8, 2001:db8::/32), or unix, separated by commas"

  private static let header = "x-forwarded-for"
  /// The number of entries that are read.
  private static let maximumHops = 32

  private var ranges: [AddressRange] = []
  private var areUnixSocketsTrusted = false

  public init() {}

  /// Adds an address, a CIDR block, or `unix` for clients of a unix socket. Returns false for any other text.
  public mutating func add(_ text: String) -> Bool {
    if text == ClientAddress.unixSocket.client {
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
    guard areTrusted(in: request) else { return request.peer }
    var client = request.peer.ip
    for entry in entries(request.headers).reversed().prefix(TrustedProxies.maximumHops) {
      guard let address = IPAddress(forwarded: TrustedProxies.trimmed(entry)) else { break }
      client = address
      guard isTrusted(address) else { break }
    }
    return ClientAddress(client)
  }

  /// Whether the request comes directly from a trusted proxy, so that the header fields that proxies add are its own.
  public func areTrusted(in request: HTTPRequest) -> Bool { isTrusted(peer: request.peer.ip) }

  /// `peer` is nil for a unix socket.
  func isTrusted(peer: IPAddress?) -> Bool { peer.map(isTrusted) ?? areUnixSocketsTrusted }

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

/// A client, and the texts by which its requests are counted.
public struct ClientAddress: Sendable {
  public static let unixSocket = ClientAddress(nil)

  /// Nil for a unix socket.
  package let ip: IPAddress?
  /// The client: its IPv4 address, the /64 of its IPv6 address, or `unix`.
  public let client: String
  /// All who share its site: its IPv4 address, the /56 of its IPv6 address, or `unix`.
  public let site: String

  package init(_ ip: IPAddress?) {
    self.ip = ip
    client = ip?.client ?? "unix"
    site = ip.flatMap { $0.isIPv4 ? nil : $0.site } ?? client
  }
}
