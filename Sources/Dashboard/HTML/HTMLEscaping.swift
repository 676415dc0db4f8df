/// Makes text safe in the content of an element and between the quotes of an attribute.
enum HTMLEscaping {
  /// They join the parts of emoji, and letters in several scripts.
  private static let joiners: ClosedRange<UInt32> = 0x200C...0x200D
  private static let replacement = Array("\u{FFFD}".utf8)

  /// Appends `text` with character references for the characters of markup. Control characters except tab and line feed, and
  /// characters that are invisible or change the direction of writing, become U+FFFD.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    let isPlain = text.utf8.allSatisfy { $0 < 0x80 }
    guard !isPlain else {
      for byte in text.utf8 { appendASCII(byte, to: &bytes) }
      return
    }
    for scalar in text.unicodeScalars {
      if scalar.isASCII {
        appendASCII(UInt8(scalar.value), to: &bytes)
      } else if isShown(scalar) {
        bytes.append(contentsOf: Unicode.UTF8.encode(scalar).map(Array.init) ?? replacement)
      } else {
        bytes.append(contentsOf: replacement)
      }
    }
  }

  private static func appendASCII(_ byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
    case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
    case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
    case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
    case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
    case 0x09, 0x0A, 0x20...0x7E: bytes.append(byte)
    default: bytes.append(contentsOf: replacement)
    }
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: false
    case .format: joiners.contains(scalar.value)
    default: true
    }
  }
}
