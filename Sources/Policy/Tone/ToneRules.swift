/// The rules for the tone of a text. Whole words are compared, regardless of case, accents and apostrophes.
public struct ToneRules: Sendable, Equatable {
  struct Entry: Sendable, Equatable {
    let rule: ToneRule
    let phrase: TonePhrase
  }

  var entries: [Entry]
  /// Harmless texts that a phrase would match. They are removed from a text before it is checked.
  var harmless: [TonePhrase]
  var asksForCalm: Bool

  public static let none = ToneRules(entries: [], harmless: [], asksForCalm: false)

  /// Returns these rules with one more phrase in plain words, or nil if `phrase` has no words.
  public func adding(_ phrase: String) -> ToneRules? {
    guard let phrase = TonePhrase(plain: phrase) else { return nil }
    var rules = self
    rules.entries.append(Entry(rule: .added, phrase: phrase))
    return rules
  }

  /// Returns the first fault of a text, or nil if it has no fault.
  public func fault(in text: String) -> ToneFault? {
    if asksForCalm, let fault = ToneRules.loudness(of: text) { return fault }
    let all = ToneText(text).words
    let words = harmless.reduce(all) { ToneRules.without($1, $0) }
    for entry in entries {
      // The operator's phrases have no exceptions.
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
  /// Fewer words in capitals than this may be an abbreviation.
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

  /// Returns the words with a gap in place of each match.
  private static func without(_ phrase: TonePhrase, _ words: [String]) -> [String] {
    var words = words
    while let match = phrase.find(in: words) { words.replaceSubrange(match.range, with: ["·"]) }
    return words
  }
}

/// A rule of tone (docs/policy.md#tone). The raw value is its name in a reason.
public enum ToneRule: String, Sendable, CaseIterable {
  case calm = "not neutral and calm"
  case guilt
  case leverage = "emotional leverage"
  case urgency = "urgency inflation"
  case romance = "romantic or intimate language"
  case dependency = "dependency framing"
  case added = "a phrase that the policy file rules out"
}

/// A phrase in a text that breaks a rule of tone.
public struct ToneFault: Sendable, Equatable, CustomStringConvertible {
  /// The words of the rule, in lower case with contractions written out; `…` for words in between.
  public let phrase: String
  public let rule: ToneRule

  public var description: String { "tone: \"\(phrase)\" is \(rule.rawValue); say it in neutral, calm words" }
}
