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
