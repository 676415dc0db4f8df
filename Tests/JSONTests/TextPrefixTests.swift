import Testing

@testable import JSON

struct TextPrefixTests {
  @Test func `a text that is cut has few bytes, however many a character has`() {
    #expect(("a" + String(repeating: "\u{301}", count: 30_000)).prefix(bytes: 600).utf8.count < 610)
    #expect("pause queue push:jobs".prefix(bytes: 21) == "pause queue push:jobs")
    #expect("äö".prefix(bytes: 3) == "ä\u{FFFD}")
  }
}
