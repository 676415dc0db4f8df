#if canImport(Glibc)
  import Glibc
#endif

/// An IPv4 or IPv6 address; an IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
struct IPAddress: Equatable {
  /// Of the prefix that one IPv6 client has to itself.
  private static let clientPrefixBytes = 8
  private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
  /// Of the longest text of an address. Bytes.
  private static let maximumText = 45

  /// 4 or 16, in network order.
  let bytes: [UInt8]

  /// Nil when it is no address. A zone (`fe80::1%eth0`) is ignored.
  init?(_ text: some StringProtocol) {
    let text = String(text.prefix { $0 != "%" })
    guard text.utf8.count <= IPAddress.maximumText else { return nil }
    if let bytes = IPAddress.parsed(text, AF_INET, count: 4) {
      self.bytes = bytes
    } else if let bytes = IPAddress.parsed(text, AF_INET6, count: 16) {
      let mapped = IPAddress.mappedPrefix
      self.bytes = bytes.starts(with: mapped) ? Array(bytes.dropFirst(mapped.count)) : bytes
    } else {
      return nil
    }
  }

  /// What proxies write: the address alone, or with a port behind it (`192.0.2.1:443`, `[2001:db8::1]:443`).
  init?(forwarded text: some StringProtocol) {
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

  /// One client: an IPv4 address, or the /64 that an IPv6 address is in.
  var client: String {
    guard bytes.count == 16 else { return text }
    var network = self
    network = IPAddress(bytes: Array(bytes.prefix(IPAddress.clientPrefixBytes)) + Array(repeating: 0, count: 8))
    return network.text + "/64"
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private var text: String {
    var buffer = [CChar](repeating: 0, count: IPAddress.maximumText + 1)
    inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count))
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func parsed(_ text: String, _ family: Int32, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }

  /// Nothing, or a colon and a number.
  private static func isPort(_ text: some StringProtocol) -> Bool {
    text.isEmpty || (text.hasPrefix(":") && UInt16(text.dropFirst()) != nil)
  }
}
