import JSON

#if canImport(Glibc)
  import Glibc
#endif

/// An IPv4 or IPv6 address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) is equal to the IPv4 address.
package struct IPAddress: Equatable {
  /// The length of the prefix that belongs to one IPv6 client, and of what one customer of a provider has. Bytes.
  private static let (clientPrefixBytes, sitePrefixBytes) = (8, 7)
  private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
  /// The length of the longest text of an address. Bytes.
  private static let maximumText = 45

  /// 4 or 16, in network order.
  package let bytes: [UInt8]

  /// Returns nil if `text` is not an address. Ignores a zone (`fe80::1%eth0`).
  package init?(_ text: some StringProtocol) {
    let text = String(text.utf8.firstIndex(of: UInt8(ascii: "%")).map { text[..<$0] } ?? text[...])
    guard text.utf8.count <= IPAddress.maximumText else { return nil }
    if let bytes = IPAddress.parsed(text, AF_INET, count: 4) {
      self.init(bytes: bytes)
    } else if let bytes = IPAddress.parsed(text, AF_INET6, count: 16) {
      self.init(bytes: bytes)
    } else {
      return nil
    }
  }

  /// Reads what proxies write: an address, perhaps with a port (`192.0.2.1:443`, `[2001:db8::1]:443`).
  package init?(forwarded text: some StringProtocol) {
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]"), IPAddress.isPort(text[text.index(after: end)...]) else { return nil }
      self.init(text[text.index(after: text.startIndex)..<end])
    } else if let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon {
      guard IPAddress.isPort(text[colon...]) else { return nil }
      self.init(text[..<colon])
    } else {
      self.init(text)
    }
  }

  /// The text that identifies a client: the IPv4 address, or the /64 of the IPv6 address.
  package var client: String { network(IPAddress.clientPrefixBytes) }

  /// The text that identifies those who can send from many networks: the IPv4 address, or the /56 of the IPv6 address.
  package var site: String { network(IPAddress.sitePrefixBytes) }

  private func network(_ prefix: Int) -> String {
    guard !isIPv4 else { return text }
    let network = IPAddress(bytes: Array(bytes.prefix(prefix)) + Array(repeating: 0, count: 16 - prefix))
    return "\(network.text)/\(prefix * 8)"
  }

  var isIPv4: Bool { bytes.count == 4 }

  /// Whether only this machine can have the address.
  package var isLoopback: Bool {
    isIPv4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
  }

  /// `bytes`: 4 or 16.
  init(bytes: [UInt8]) {
    let mapped = IPAddress.mappedPrefix
    self.bytes = bytes.starts(with: mapped) ? Array(bytes.dropFirst(mapped.count)) : bytes
  }

  var text: String {
    var buffer = [CChar](repeating: 0, count: IPAddress.maximumText + 1)
    inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count))
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func parsed(_ text: String, _ family: Int32, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }

  /// Whether `text` is empty or a colon and a port number.
  private static func isPort(_ text: some StringProtocol) -> Bool {
    text.isEmpty || (text.hasPrefix(":") && text.dropFirst().integer(in: 0...UInt16.max) != nil)
  }
}

/// A block of addresses in CIDR notation: `10.0.0.0/8`, `2001:db8::/32`. An address without a prefix is a block of one address.
struct AddressRange: Equatable {
  private let network: [UInt8]
  /// Bits.
  private let prefix: Int

  /// Returns nil if `text` is not a block.
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let address = IPAddress(parts[0]), !text.contains("%") else { return nil }
    let bits = address.bytes.count * 8
    guard let length = parts.count == 2 ? parts[1].integer(in: 0...bits) : bits else { return nil }
    network = address.bytes
    prefix = length
  }

  func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == network.count else { return false }
    let (whole, rest) = (prefix / 8, prefix % 8)
    guard address.bytes.prefix(whole).elementsEqual(network.prefix(whole)) else { return false }
    return rest == 0 || (address.bytes[whole] ^ network[whole]) >> UInt8(8 - rest) == 0
  }
}
