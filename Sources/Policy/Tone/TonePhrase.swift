/// Words that a text must not have, one after the other.
struct TonePhrase: Sendable, Equatable {
  private static let longestGap = 3

  private enum Part: Equatable {
    case word(oneOf: [String], isOptional: Bool)
    /// Up to ``longestGap`` words.
    case gap
  }

  private let parts: [Part]

  /// `not|never ignore me`: `a|b` is either word, `a?` may be missing, `*` is up to three words. Words as ``ToneText`` has them.
  init(pattern: String) {
    parts = pattern.split(separator: " ").map { part in
      if part == "*" { return .gap }
      let isOptional = part.hasSuffix("?")
      let words = (isOptional ? part.dropLast() : part).split(separator: "|").map(String.init)
      return .word(oneOf: words, isOptional: isOptional)
    }
  }

  /// A phrase as somebody writes it, word by word. Nil when it has no words.
  init?(plain text: String) {
    let words = ToneText(text).words
    guard !words.isEmpty else { return nil }
    parts = words.map { .word(oneOf: [$0], isOptional: false) }
  }

  /// Where the words stand that match first, and what to call them; nil when none do.
  func find(in words: [String]) -> (range: Range<Int>, phrase: String)? {
    for start in words.indices {
      if let end = match(words, at: start, part: 0) {
        return (start..<end, name(of: words[start..<end]))
      }
    }
    return nil
  }

  /// The end of a match of all parts from `part` on.
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

  /// Only words of the phrase itself: what stands in its gaps is the producer's.
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
