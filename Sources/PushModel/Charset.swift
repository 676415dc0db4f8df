/// The ASCII characters and the lengths that an identifier may have.
package struct Charset: Sendable {
  package static let bundleID = Charset("._-", length: 1...200)
  package static let token = Charset(":_.-", length: 20...512)
  /// Of the phone of a device.
  package static let deviceID = Charset("._:-", length: 1...128)
  package let length: ClosedRange<Int>
  /// The name that operators gave a channel.
  package static let channelName = Charset("._-", length: 1...64)

  /// `letters, digits and ._:-`
  package let description: String
  private let low: UInt64
  private let high: UInt64

  package init(_ punctuation: String, length: ClosedRange<Int>) {
    self.init(
      of: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + punctuation, length: length,
      "\(length.lowerBound) to \(length.upperBound) letters, digits or any of \(punctuation)")
  }

  package init(of characters: String, length: ClosedRange<Int>, _ description: String) {
    self.length = length
    self.description = description
    var low: UInt64 = 0
    var high: UInt64 = 0
    for byte in characters.utf8 {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
    }
    self.low = low
    self.high = high
  }

  package func accepts(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { accepts($0) }
  }

  func accepts(_ bytes: some Collection<UInt8>) -> Bool {
    length.contains(bytes.count) && bytes.allSatisfy(contains)
  }

  package func contains(_ byte: UInt8) -> Bool {
    byte < 128 && (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 != 0
  }
}

/// The form of bundle ids.
public enum BundleID {
  /// Whether `text` is 1 to 200 letters, digits, `.`, `_` or `-`.
  public static func isWellFormed(_ text: String) -> Bool { Charset.bundleID.accepts(text) }
}

/// The form of APNs' ids of channels: text that APNs chooses, base64 in Apple's examples.
public enum ChannelID {
  private static let charset = Charset("+/=_-", length: 1...256)

  public static func isWellFormed(_ id: String) -> Bool { charset.accepts(id) }
}
