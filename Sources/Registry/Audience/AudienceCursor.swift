import JSON
package import PushModel

/// A position in an app's audience. Valid across restarts and while tokens are added and removed.
public struct AudienceCursor: Sendable, Equatable {
  public static let start = AudienceCursor(shard: 0, lastEntry: [])

  let shard: Int
  /// The entry before the position; empty at the start of a shard. May be any bytes.
  let lastEntry: [UInt8]

  init(shard: Int, lastEntry: [UInt8]) {
    self.shard = shard
    self.lastEntry = lastEntry
  }

  /// The position after a device.
  package init(after token: DeviceToken) {
    self.init(shard: AudienceShard.shard(of: token.text), lastEntry: Array(token.text.utf8))
  }

  /// Parses a ``description``. Returns nil if it is malformed.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2,
      let shard = String(decoding: parts[0], as: UTF8.self).integer(in: 0...AudienceShard.count - 1),
      let entry = [UInt8](percentDecoding: Array(parts[1])[...])
    else { return nil }
    self.init(shard: shard, lastEntry: entry)
  }
}

extension AudienceCursor: CustomStringConvertible {
  /// `shard:entry`. The shard has two digits, so that cursors sort like their texts. Bytes that no token contains are
  /// written as `%XX`.
  public var description: String {
    var text = Array((shard < 10 ? "0\(shard):" : "\(shard):").utf8)
    for byte in lastEntry {
      if DeviceToken.contains(byte) {
        text.append(byte)
      } else {
        text += (byte < 16 ? "%0\(String(byte, radix: 16))" : "%\(String(byte, radix: 16))").utf8
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// Distributes an app's audience over sorted sets. Must never change, because stored tokens depend on it.
public enum AudienceShard {
  public static let count = 16

  public static func shard(of token: String) -> Int { shard(of: Array(token.utf8)) }

  /// Returns the shard by the FNV-1a hash of the token.
  package static func shard(of token: some Sequence<UInt8>) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in token {
      hash ^= UInt64(byte)
      hash &*= 0x0000_0100_0000_01B3
    }
    // The low bits of FNV-1a depend only on the low bits of the text, so the high bits are mixed in.
    return Int((hash ^ hash >> 32) % UInt64(count))
  }
}
