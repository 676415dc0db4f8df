/// Makes text safe to print on a terminal: control characters, invisible characters and those that change the direction of
/// writing become JSON escapes. JSON stays JSON with the same meaning.
public enum TerminalText {
  /// They join the parts of emoji, and letters in several scripts.
  private static let joiners: ClosedRange<UInt32> = 0x200C...0x200D
  private static let hexDigits = 16
  private static let escapeDigits = 4

  /// Escapes line ends too.
  public static func line(_ text: String) -> String { escaped(text, areLineEndsKept: false) }

  /// Keeps line ends.
  public static func lines(_ text: String) -> String { escaped(text, areLineEndsKept: true) }

  static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return false
    case .format: return joiners.contains(scalar.value)
    default: return true
    }
  }

  /// `\n`, `\u001b`, or two escapes for a scalar of more than 16 bits.
  static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default:
      scalar.utf16.map { unit in
        let digits = String(unit, radix: hexDigits)
        return "\\u" + String(repeating: "0", count: escapeDigits - digits.count) + digits
      }.joined()
    }
  }

  private static func escaped(_ text: String, areLineEndsKept: Bool) -> String {
    // Most text needs no escape.
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || ($0 == 0x0A && areLineEndsKept) }) { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isShown(scalar) || (scalar == "\n" && areLineEndsKept) {
        result.append(scalar)
      } else {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      }
    }
    return String(result)
  }
}
