import Testing

@testable import Telemetry

struct TerminalTextTests {
  @Test(arguments: [
    ("\u{1B}[2J", #"\u001b[2J"#), ("a\r\tb\u{7F}", #"a\r\tb\u007f"#), ("\u{9B}31m", #"\u009b31m"#),
    ("\u{202E}txt\u{2066}", #"\u202etxt\u2066"#), ("\u{2028}\u{2029}", #"\u2028\u2029"#), ("\u{FEFF}", #"\ufeff"#),
    ("\u{E0041}", #"\udb40\udc41"#), ("\0", #"\u0000"#),
  ])
  func `characters that control a terminal become JSON escapes`(text: String, escaped: String) {
    #expect(TerminalText.line(text) == escaped)
    #expect(TerminalText.lines(text) == escaped)
  }

  @Test(arguments: ["", "plain \"text\" \\n", "Grüße, 今日は", "👩‍👩‍👧", "می‌خواهم", "e\u{301}"])
  func `text of any language is unchanged`(text: String) {
    #expect(TerminalText.line(text) == text)
  }

  @Test func `line ends are escaped within a line and kept between lines`() {
    #expect(TerminalText.line("a\nb") == #"a\nb"#)
    #expect(TerminalText.lines("a\nb\u{1B}\n") == "a\nb\\u001b\n")
  }

  @Test func `bytes that are not UTF-8 become replacement characters`() {
    #expect(TerminalText.line(String(decoding: [0x61, 0x9B, 0x33, 0xFF], as: UTF8.self)) == "a\u{FFFD}3\u{FFFD}")
  }

  @Test func `neither form of a log line changes the direction of writing or moves the cursor`() {
    nonisolated(unsafe) var lines: [String] = []
    for isText in [true, false] {
      Log(level: .info, isText: isText) { lines.append($0) }.info(
        "job done", ["id": .init("\u{9B}2J\u{202E}\u{E0041}\u{7F}")])
    }
    #expect(lines[0].hasSuffix("id=�2J���\n"))
    #expect(lines[1].hasSuffix(#""id":"\u009b2J\u202e\udb40\udc41\u007f"}"# + "\n"))
  }
}
