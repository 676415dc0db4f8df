extension [UInt8] {
  /// Decodes `%XX` once. Returns nil if an escape is malformed.
  package init?(percentDecoding text: ArraySlice<UInt8>, plusIsSpace: Bool = false) {
    self = []
    reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      switch text[index] {
      case UInt8(ascii: "+") where plusIsSpace: append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard index + 2 < text.endIndex, let high = text[index + 1].hexDigit, let low = text[index + 2].hexDigit
        else { return nil }
        append(high << 4 | low)
        index += 2
      case let byte: append(byte)
      }
      index += 1
    }
  }
}

extension String {
  /// Not escaped.
  private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:".utf8)

  /// Decodes `%XX` once. Returns nil if an escape is malformed, or the result is not UTF-8.
  package init?(percentDecoding text: some StringProtocol) {
    guard let bytes = [UInt8](percentDecoding: Array(text.utf8)[...]) else { return nil }
    self.init(validating: bytes, as: UTF8.self)
  }

  /// Escapes everything but letters, digits, `-`, `.`, `_`, `~` and `:`.
  package init(percentEncoding text: String) {
    self = text.utf8.map { byte in
      let hex = String(byte, radix: 16, uppercase: true)
      return String.plain.contains(byte) ? String(UnicodeScalar(byte)) : byte < 16 ? "%0\(hex)" : "%\(hex)"
    }.joined()
  }
}

extension UInt8 {
  fileprivate var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
