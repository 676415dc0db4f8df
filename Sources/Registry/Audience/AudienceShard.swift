/// Over which sorted sets an app's audience is spread. Fixed for ever: tokens are looked for where this says.
public enum AudienceShard {
  public static let count = 16

  public static func shard(of token: String) -> Int { shard(of: token.utf8) }

  /// FNV-1a of the token's bytes.
  package static func shard(of token: some Sequence<UInt8>) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in token {
      hash ^= UInt64(byte)
      hash &*= 0x0000_0100_0000_01B3
    }
    // The low bits alone of FNV-1a depend on the low bits of the text alone.
    return Int((hash ^ hash >> 32) % UInt64(count))
  }
}
