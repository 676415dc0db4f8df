/// Makes text safe in the content of an element and between the quotes of an attribute.
package enum HTMLEscaping {
  /// They join the parts of emoji, and letters in several scripts.
  private static let joiners: ClosedRange<UInt32> = 0x200C...0x200D
  private static let replacement = Array("\u{FFFD}".utf8)

  /// Appends `text` with character references for the characters of markup. Control characters except tab and line feed, and
  /// characters that are invisible or change the direction of writing, become U+FFFD.
  package static func append(_ text: String, to bytes: inout [UInt8]) {
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

  /// Appends `text` so that a browser reads exactly this text again: for what a form sends back and nobody sees. U+0000 and
  /// bytes that are no UTF-8 become U+FFFD.
  package static func appendExactly(_ text: String, to bytes: inout [UInt8]) {
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x26, 0x3C, 0x3E, 0x22, 0x27: appendASCII(UInt8(scalar.value), to: &bytes)
      case 0: bytes.append(contentsOf: replacement)
      case ..<0x20, 0x7F: bytes.append(contentsOf: "&#\(scalar.value);".utf8)
      default: bytes.append(contentsOf: Unicode.UTF8.encode(scalar).map(Array.init) ?? replacement)
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
