/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein), fed byte by byte.
struct SipHash128 {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64
  private var tail: UInt64 = 0
  private var count: UInt64 = 0

  init(key: (UInt64, UInt64)) {
    v0 = 0x736F_6D65_7073_6575 ^ key.0
    v1 = 0x646F_7261_6E64_6F6D ^ key.1 ^ 0xEE
    v2 = 0x6C79_6765_6E65_7261 ^ key.0
    v3 = 0x7465_6462_7974_6573 ^ key.1
  }

  mutating func append(_ byte: UInt8) {
    tail |= UInt64(byte) << ((count & 7) * 8)
    count &+= 1
    if count & 7 == 0 {
      compress(tail)
      tail = 0
    }
  }

  /// Appends whole words where possible.
  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    var place = 0
    while bytes.count - place >= 8 {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      let shift = (count & 7) * 8
      compress(tail | word << shift)
      // 0 for a shift by 64.
      tail = word >> (64 - shift)
      count &+= 8
      place += 8
    }
    while place < bytes.count {
      append(bytes[place])
      place += 1
    }
  }

  mutating func append(_ text: String) {
    text.utf8.span.withUnsafeBufferPointer { append(UnsafeRawBufferPointer($0)) }
  }

  /// The first and the second eight bytes of the digest, each as a little-endian number.
  consuming func finish() -> (UInt64, UInt64) {
    compress(tail | count << 56)
    v2 ^= 0xEE
    for _ in 0..<4 { round() }
    let first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    for _ in 0..<4 { round() }
    return (first, v0 ^ v1 ^ v2 ^ v3)
  }

  private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    round()
    v0 ^= word
  }

  private mutating func round() {
    v0 &+= v1
    v2 &+= v3
    v1 = rotated(v1, 13) ^ v0
    v3 = rotated(v3, 16) ^ v2
    v0 = rotated(v0, 32)
    v2 &+= v1
    v0 &+= v3
    v1 = rotated(v1, 17) ^ v2
    v3 = rotated(v3, 21) ^ v0
    v2 = rotated(v2, 32)
  }

  private func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 {
    word << bits | word >> (64 - bits)
  }
}
