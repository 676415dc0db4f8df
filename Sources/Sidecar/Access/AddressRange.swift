/// A block of addresses in CIDR notation: `10.0.0.0/8`, `2001:db8::/32`; an address alone is a block of one.
struct AddressRange: Equatable {
  private let network: [UInt8]
  /// Bits.
  private let prefix: Int

  /// Nil when it is none.
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let address = IPAddress(parts[0]), !text.contains("%") else { return nil }
    let bits = address.bytes.count * 8
    guard let length = parts.count == 2 ? AddressRange.number(parts[1]) : bits, length <= bits else { return nil }
    network = address.bytes
    prefix = length
  }

  func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == network.count else { return false }
    let (whole, rest) = (prefix / 8, prefix % 8)
    guard address.bytes.prefix(whole).elementsEqual(network.prefix(whole)) else { return false }
    return rest == 0 || (address.bytes[whole] ^ network[whole]) >> UInt8(8 - rest) == 0
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) ? Int(text) : nil
  }
}
