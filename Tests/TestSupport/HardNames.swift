/// A name of a user that is hard to tell from others.
///
/// Compared by the bytes of its one form: two texts that look alike, and that `String` calls equal, are two names to Redis.
public struct HardName: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// Trimmed, in lower case and NFC, as Redis holds it.
  public let form: String
  /// Other texts that mean the same user.
  public let spellings: [String]

  public init(_ form: String, spellings: [String] = []) {
    self.form = form
    self.spellings = spellings
  }

  public init(stringLiteral form: String) { self.init(form) }

  public var description: String { form }

  /// One of the texts that mean the user.
  public func spelled(using generator: inout some RandomNumberGenerator) -> String {
    ([form] + spellings).randomElement(using: &generator) ?? form
  }

  public static func == (one: HardName, other: HardName) -> Bool { one.form.utf8.elementsEqual(other.form.utf8) }

  public func hash(into hasher: inout Hasher) { for byte in form.utf8 { hasher.combine(byte) } }
}

/// Names for loads and simulations: look-alikes, names that contain each other and the separators of keys, every way of writing
/// them. Neighbours are those that are easily taken for each other.
public enum HardNames {
  /// A part of a name, as it is in NFC and as others write it.
  private struct Part: ExpressibleByStringLiteral {
    let form: String
    let other: String

    init(_ form: String, _ other: String) {
      self.form = form
      self.other = other
    }

    init(stringLiteral text: String) { self.init(text, text) }
  }

  private static let eAcute = Part("\u{e9}", "e\u{301}")
  /// Two marks, in the order that NFC does not have.
  private static let oMarks = Part("\u{1ed9}", "o\u{302}\u{323}")
  private static let aRing = Part("\u{e5}", "\u{212b}")
  private static let semicolon = Part(";", "\u{37e}")
  private static let backquote = Part("`", "\u{1fef}")
  private static let hangul = Part("\u{d55c}", "\u{1112}\u{1161}\u{11ab}")
  private static let ga = Part("\u{304c}", "\u{304b}\u{3099}")
  private static let alef = Part("\u{622}", "\u{627}\u{653}")
  /// NFC takes these apart.
  private static let shin = Part("\u{5e9}\u{5c1}", "\u{fb2a}")
  private static let note = Part("\u{1d157}\u{1d165}", "\u{1d15e}")

  private static let patterns: [[Part]] = [
    ["jos", eAcute], ["jose"], ["jos\u{435}"],
    ["bob"], ["team:bob"], ["{bob}"], ["bo b"], ["bob:tokens"], ["bob", semicolon], ["bob", backquote],
    [hangul], [Part("\u{d558}", "\u{1112}\u{1161}")], [ga], ["\u{304b}"],
    ["tr", oMarks, "i"], ["troi"], ["\u{5d0}", shin, "\u{5d5}\u{5dd}"], ["\u{5d0}\u{5e9}\u{5d5}\u{5dd}"],
    [alef, "\u{645}\u{646}\u{629}"], ["\u{627}\u{645}\u{646}\u{629}"], [note, "\u{1f426}"], ["\u{1f426}"],
    [aRing, "sa}"], ["asa}{"],
    [Part(longest, longest)], ["user:", "{", eAcute, "}:notifications"],
  ]

  private static let maximumBytes = 128
  /// As long as a name may be, with two digits behind it. A bird has 4 bytes.
  private static let longest = String(repeating: "\u{1f426}", count: (maximumBytes - 4) / 4) + "--"

  /// Returns `count` different names of users, always the same ones.
  public static func users(_ count: Int) -> [HardName] {
    (0..<count).map { number in
      let (round, place) = number.quotientAndRemainder(dividingBy: patterns.count)
      let parts = patterns[place] + (round == 0 ? [] : [Part(stringLiteral: "\(round)")])
      let (form, other) = (parts.map(\.form).joined(), parts.map(\.other).joined())
      return HardName(form, spellings: [other, "\u{3000}\(other) "].filter { !$0.utf8.elementsEqual(form.utf8) })
    }
  }

  /// Returns the id of a phone. `X:team` of bob and `X` of team:bob must not be taken for each other.
  public static func phone(_ number: Int) -> String { "X\(number / 2)" + (number.isMultiple(of: 2) ? ":team" : "") }

  /// Returns a value that is compared as it is named, different for each number. Neighbours are two forms of one text.
  public static func text(_ number: Int) -> String {
    let part = [eAcute, semicolon, hangul, ga, shin, note][number / 2 % 6]
    return "\(number / 2):{\(number.isMultiple(of: 2) ? part.form : part.other) \u{5d0}}"
  }
}
