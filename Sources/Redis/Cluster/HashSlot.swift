/// The part of a Redis Cluster's key space that a key is in: CRC-16/XMODEM of its hash tag, modulo 16,384.
///
/// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
package enum HashSlot {
  package static let count = 16_384

  private static let table: [UInt16] = (0..<256).map { byte in
    (0..<8).reduce(UInt16(byte) << 8) { sum, _ in sum & 0x8000 != 0 ? sum << 1 ^ 0x1021 : sum << 1 }
  }

  package static func of(_ key: some BidirectionalCollection<UInt8>) -> Int {
    var sum: UInt16 = 0
    for byte in tag(of: key) { sum = sum << 8 ^ table[Int(sum >> 8 ^ UInt16(byte))] }
    return Int(sum) % count
  }

  package static func of(_ key: String) -> Int { of(key.utf8) }

  /// What is between the first `{` and the next `}`; the whole key if there is none, or nothing between them.
  private static func tag<Key: BidirectionalCollection<UInt8>>(of key: Key) -> Key.SubSequence {
    guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key[...] }
    let rest = key[key.index(after: open)...]
    guard let end = rest.firstIndex(of: UInt8(ascii: "}")), end != rest.startIndex else { return key[...] }
    return rest[..<end]
  }
}
