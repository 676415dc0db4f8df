/// A sequence of words that a text must not contain.
struct TonePhrase: Sendable, Equatable {
  private static let longestGap = 3

  private enum Part: Equatable {
    case word(oneOf: [String], isOptional: Bool)
    /// Up to ``longestGap`` words.
    case gap
  }

  private let parts: [Part]

  /// A pattern such as `not|never ignore me`: `a|b` is either word, `a?` is optional, `*` is up to three words. Words are written
  /// as in ``ToneText/words``.
  init(pattern: String) {
    parts = pattern.split(separator: " ").map { part in
      if part == "*" { return .gap }
      let isOptional = part.hasSuffix("?")
      let words = (isOptional ? part.dropLast() : part).split(separator: "|").map(String.init)
      return .word(oneOf: words, isOptional: isOptional)
    }
  }

  /// A phrase in plain words. Nil if it has no words.
  init?(plain text: String) {
    let words = ToneText(text).words
    guard !words.isEmpty else { return nil }
    parts = words.map { .word(oneOf: [$0], isOptional: false) }
  }

  /// Returns the range of the first match and its name, or nil if nothing matches.
  func find(in words: [String]) -> (range: Range<Int>, phrase: String)? {
    for start in words.indices {
      if let end = match(words, at: start, part: 0) {
        return (start..<end, name(of: words[start..<end]))
      }
    }
    return nil
  }

  /// Returns the end of a match of all parts from `part` on.
  private func match(_ words: [String], at index: Int, part: Int) -> Int? {
    guard part < parts.count else { return index }
    switch parts[part] {
    case .gap:
      for skipped in 0...TonePhrase.longestGap where index + skipped <= words.count {
        if let end = match(words, at: index + skipped, part: part + 1) { return end }
      }
      return nil
    case .word(let choices, let isOptional):
      if index < words.count, choices.contains(words[index]),
        let end = match(words, at: index + 1, part: part + 1)
      {
        return end
      }
      return isOptional ? match(words, at: index, part: part + 1) : nil
    }
  }

  /// Returns only words of the phrase itself. Words in its gaps are the producer's and are replaced with `…`.
  private func name(of words: ArraySlice<String>) -> String {
    let known = parts.flatMap { part -> [String] in
      if case .word(let choices, _) = part { choices } else { [] }
    }
    var named: [String] = []
    for word in words {
      let word = known.contains(word) ? word : "…"
      if word != "…" || named.last != "…" { named.append(word) }
    }
    return named.joined(separator: " ")
  }
}
