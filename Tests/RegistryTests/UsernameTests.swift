import PushModel
import Testing

struct UsernameTests {
  /// Names that Swift's String calls equal, and other ways to write the same name.
  private static let forms: [(String, String)] = [
    ("jos\u{e9}", "jose\u{301}"), ("jos\u{e9}", "  JOSE\u{301}\u{3000}"), ("a;b", "a\u{37e}b"), ("`", "\u{1fef}"),
    ("\u{d55c}", "\u{1112}\u{1161}\u{11ab}"), ("\u{304c}", "\u{304b}\u{3099}"), ("\u{e5}", "\u{212b}"),
    ("k", "\u{212a}"),
    ("\u{1ed9}", "\u{f4}\u{323}"), ("q\u{323}\u{307}", "q\u{307}\u{323}"),
  ]

  @Test(arguments: forms) func `a name has one form, however it is written`(name: String, other: String) {
    #expect(Array(Username(other).text.utf8) == Array(name.utf8))
    #expect(Username(name) == Username(other))
    #expect(Username(name).hashValue == Username(other).hashValue)
  }

  @Test(arguments: [
    ("bob", "bo\u{431}"), ("jose", "jos\u{e9}"), ("bob", "team:bob"), ("\u{df}", "ss"), ("\u{fb01}", "fi"),
  ])
  func `names that look alike are different users`(name: String, other: String) {
    #expect(Username(name) != Username(other))
  }

  @Test func `the one form of each character is its own one form`() {
    let plain: Set<Unicode.GeneralCategory> = [.unassigned, .privateUse, .surrogate]
    for value in UInt32(0)...0x1FFFF {
      guard let scalar = Unicode.Scalar(value), !plain.contains(scalar.properties.generalCategory),
        !scalar.properties.isUnifiedIdeograph
      else { continue }
      for text in ["\(scalar)", "a\(scalar)\u{323}"] {
        let name = Username(text).text
        guard !Username(name).text.utf8.elementsEqual(name.utf8) else { continue }
        Issue.record("U+\(String(value, radix: 16)) in \(Array(text.unicodeScalars))")
      }
    }
  }

  @Test func `a name that has another form says so`() {
    for (name, _) in Self.forms where name != "k" { #expect(Username(name).hasOtherForms, "\(name)") }
    #expect(!Username("bob.smith+1@example.com").hasOtherForms)
    #expect(Username("jos\u{e9}").decomposed == ExactText("jose\u{301}"))
    #expect(Username("\u{444}").decomposed == nil)
    #expect(Username("bob").decomposed == nil)
  }

  @Test(arguments: ["", "   ", "a\nb", "a\u{7f}", "\u{0}"]) func `a text that is no name is refused`(text: String) {
    #expect(Username.validated(text) == nil)
  }

  @Test func `texts from outside are compared by their bytes`() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    #expect(composed == decomposed)
    #expect(ExactText(composed) != ExactText(decomposed))
    #expect(Set([ExactText(composed), ExactText(decomposed), ExactText(composed)]).count == 2)
    #expect(ExactText(decomposed) < ExactText(composed))
  }
}
