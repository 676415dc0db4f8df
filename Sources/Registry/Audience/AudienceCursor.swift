import PushModel

/// How far an app's audience has been read. Means the same after a restart, and when tokens come and go.
public struct AudienceCursor: Sendable, Equatable {
  public static let start = AudienceCursor(shard: 0, lastEntry: [])

  let shard: Int
  /// Empty at the start of a shard. Any bytes: what others wrote into the set must not stop the reading.
  let lastEntry: [UInt8]

  init(shard: Int, lastEntry: [UInt8]) {
    self.shard = shard
    self.lastEntry = lastEntry
  }

  /// Reads ``description``. Nil when it is none.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let shard = Int(String(decoding: parts[0], as: UTF8.self)),
      (0..<AudienceShard.count).contains(shard), let entry = AudienceCursor.unescaped(Array(parts[1]))
    else { return nil }
    self.init(shard: shard, lastEntry: entry)
  }

  private static func unescaped(_ text: [UInt8]) -> [UInt8]? {
    var entry: [UInt8] = []
    var index = 0
    while index < text.count {
      if text[index] != UInt8(ascii: "%") {
        entry.append(text[index])
        index += 1
        continue
      }
      guard index + 2 < text.count, text[index + 1] != UInt8(ascii: "+"),
        let byte = UInt8(String(decoding: text[index + 1...index + 2], as: UTF8.self), radix: 16)
      else { return nil }
      entry.append(byte)
      index += 3
    }
    return entry
  }
}

extension AudienceCursor: CustomStringConvertible {
  /// `shard:lasttoken`, the shard in two digits so that cursors order like their texts; bytes that no token has are written `%XX`.
  public var description: String {
    var text = shard < 10 ? "0\(shard):" : "\(shard):"
    for byte in lastEntry {
      if DeviceToken.contains(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += byte < 16 ? "%0\(String(byte, radix: 16))" : "%\(String(byte, radix: 16))"
      }
    }
    return text
  }
}
