/// The ASCII characters and the length that an identifier may have.
package struct Charset: Sendable {
  package static let bundleID = Charset("._-", length: 1...200)
  /// docs/http/push-api.md.
  package static let token = Charset(":_.-", length: 20...512)

  package let length: ClosedRange<Int>
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
    guard length.contains(text.utf8.count) else { return false }
    var text = text
    return text.withUTF8 { $0.allSatisfy(contains) }
  }

  private func contains(_ byte: UInt8) -> Bool {
    switch byte {
    case ..<64: low & 1 << UInt64(byte) != 0
    case ..<128: high & 1 << UInt64(byte - 64) != 0
    default: false
    }
  }
}
