/// Text that a terminal shows as it is: control characters, and those that turn the direction of writing or cannot be seen,
/// become JSON escapes. So JSON stays JSON, and means the same.
public enum TerminalText {
  /// Joins the parts of emoji and letters of several scripts.
  private static let joiners: ClosedRange<UInt32> = 0x200C...0x200D
  private static let hexDigits = 16
  private static let escapeDigits = 4

  /// Of one line: line ends are escaped, too.
  public static func line(_ text: String) -> String { escaped(text, areLineEndsKept: false) }

  /// Line ends stay.
  public static func lines(_ text: String) -> String { escaped(text, areLineEndsKept: true) }

  static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return false
    case .format: return joiners.contains(scalar.value)
    default: return true
    }
  }

  /// `\n`, `\u001b`, or two of these for what is beyond 16 bits.
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
    // Most text needs nothing.
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
