/// What the text of a notification must not say. Word by word, whatever the case, the accents or the apostrophes.
public struct ToneRules: Sendable, Equatable {
  struct Entry: Sendable, Equatable {
    let rule: ToneRule
    let phrase: TonePhrase
  }

  private var entries: [Entry]
  /// Harmless, though a phrase would match: taken out first.
  private var harmless: [TonePhrase]
  private var asksForCalm: Bool

  init(entries: [Entry], harmless: [TonePhrase], asksForCalm: Bool) {
    self.entries = entries
    self.harmless = harmless
    self.asksForCalm = asksForCalm
  }

  public static let none = ToneRules(entries: [], harmless: [], asksForCalm: false)

  /// The same and one phrase more, in plain words; nil when it has none.
  public func adding(_ phrase: String) -> ToneRules? {
    guard let phrase = TonePhrase(plain: phrase) else { return nil }
    var rules = self
    rules.entries.append(Entry(rule: .added, phrase: phrase))
    return rules
  }

  /// The first fault of a text.
  public func fault(in text: String) -> ToneFault? {
    if asksForCalm, let fault = ToneRules.loudness(of: text) { return fault }
    let all = ToneText(text).words
    let words = harmless.reduce(all) { ToneRules.without($1, $0) }
    for entry in entries {
      // What the operator rules out has no exceptions.
      if let match = entry.phrase.find(in: entry.rule == .added ? all : words) {
        return ToneFault(phrase: match.phrase, rule: entry.rule)
      }
    }
    return nil
  }

  private static let hearts: Set<Unicode.Scalar> = [
    "❤", "♥", "❥", "💋", "💌", "💏", "💑", "💓", "💔", "💕", "💖", "💗", "💘", "💙", "💚", "💛", "💜", "💝", "💞", "💟", "🖤",
    "🤍", "🤎", "🧡", "🩷", "😍", "😘", "😗", "😚", "😙", "🥰", "😻",
  ]
  /// With fewer words in capitals it may be an abbreviation.
  private static let shoutedWords = 4

  private static func loudness(of text: String) -> ToneFault? {
    if let heart = text.unicodeScalars.first(where: hearts.contains) {
      return ToneFault(phrase: String(heart), rule: .romance)
    }
    let marks = text.unicodeScalars.map { ToneRules.mark($0) }
    for (mark, next) in zip(marks, marks.dropFirst()) {
      if let mark, let next, mark == "!" || next == "!" { return ToneFault(phrase: "\(mark)\(next)", rule: .calm) }
    }
    let letters = text.unicodeScalars.filter(\.properties.isAlphabetic)
    let hasCapitalsOnly =
      letters.contains(where: \.properties.isUppercase) && !letters.contains(where: \.properties.isLowercase)
    guard hasCapitalsOnly, text.split(separator: " ").count >= shoutedWords else { return nil }
    return ToneFault(phrase: "capitals only", rule: .calm)
  }

  private static func mark(_ scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "!", "！", "❗", "❕", "¡": "!"
    case "‼": "!!"
    case "?", "？", "❓": "?"
    default: nil
    }
  }

  /// The words with a gap in the place of each match.
  private static func without(_ phrase: TonePhrase, _ words: [String]) -> [String] {
    var words = words
    while let match = phrase.find(in: words) { words.replaceSubrange(match.range, with: ["·"]) }
    return words
  }
}
