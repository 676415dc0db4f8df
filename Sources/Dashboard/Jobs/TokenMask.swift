import Telemetry

/// Shortens what may be a device token in text that cannot be read as a job: what follows a key like `token`, and long runs of
/// base64 or hexadecimal digits. Rather too much than too little.
struct TokenMask {
  /// The characters of the long runs that are shortened without a key in front of them.
  enum Runs { case hexadecimal, base64 }

  /// A longer run may be a token.
  private static let longestPlainRun = 40
  /// A shorter value of a key is no token.
  private static let longestPlainValue = 8
  private static let keys = ["token", "tokens"]

  private let text: [Unicode.Scalar]
  private let runs: Runs
  private var index = 0
  private var result = ""

  static func masked(_ text: String, runs: Runs) -> String {
    var mask = TokenMask(text: Array(text.unicodeScalars), runs: runs)
    mask.run()
    return mask.result
  }

  /// Whether the value of a key is a token, or are tokens, by its name: `token`, `deviceTokens`.
  static func isKey(_ name: String) -> Bool {
    let name = name.lowercased()
    return keys.contains { name.hasSuffix($0) }
  }

  private mutating func run() {
    while index < text.count {
      guard TokenMask.isOfWord(text[index]) else {
        append(while: { !TokenMask.isOfWord($0) })
        continue
      }
      let word = peek(TokenMask.isOfWord)
      shortenRuns(before: index + word.unicodeScalars.count)
      if TokenMask.isKey(word) { values() }
    }
  }

  /// Reads a word. A run in it may be longer than the word.
  private mutating func shortenRuns(before end: Int) {
    while index < end {
      let length = peek(isOfRun).unicodeScalars.count
      if length > TokenMask.longestPlainRun {
        shorten(isOfRun)
      } else {
        append(min(max(length, 1), end - index))
      }
    }
  }

  /// Reads what follows a key: `":"`, `=`, `: ["`, then the value or the values.
  private mutating func values() {
    let between = peek { " \t\r\n\"'\\:=[".unicodeScalars.contains($0) }
    guard between.contains(where: { ":=".contains($0) }) else { return }
    append(between.unicodeScalars.count)
    let isList = between.contains("[")
    repeat {
      if isList { append(while: { !TokenMask.isOfToken($0) && $0 != "]" }) }
      let value = peek(TokenMask.isOfToken)
      guard !value.isEmpty else { return }
      if value.unicodeScalars.count > TokenMask.longestPlainValue {
        shorten(TokenMask.isOfToken)
      } else {
        append(while: TokenMask.isOfToken)
      }
    } while isList
  }

  private func peek(_ isIncluded: (Unicode.Scalar) -> Bool) -> String {
    var run = ""
    run.unicodeScalars.append(contentsOf: text[index...].prefix(while: isIncluded))
    return run
  }

  private mutating func append(while isIncluded: (Unicode.Scalar) -> Bool) {
    append(text[index...].prefix(while: isIncluded).count)
  }

  private mutating func append(_ count: Int) {
    result.unicodeScalars.append(contentsOf: text[index..<(index + count)])
    index += count
  }

  private mutating func shorten(_ isIncluded: (Unicode.Scalar) -> Bool) {
    let run = peek(isIncluded)
    result += Log.shortened(run)
    index += run.unicodeScalars.count
  }

  private static func isOfWord(_ character: Unicode.Scalar) -> Bool {
    character.isASCII
      && (character.properties.isAlphabetic || ("0"..."9").contains(character) || character == "_" || character == "-")
  }

  private func isOfRun(_ character: Unicode.Scalar) -> Bool {
    switch runs {
    case .hexadecimal: character.properties.isASCIIHexDigit
    case .base64: TokenMask.isOfBase64(character)
    }
  }

  private static func isOfBase64(_ character: Unicode.Scalar) -> Bool {
    isOfWord(character) || "+/=".unicodeScalars.contains(character)
  }

  private static func isOfToken(_ character: Unicode.Scalar) -> Bool {
    isOfBase64(character) || ".:".unicodeScalars.contains(character)
  }
}
