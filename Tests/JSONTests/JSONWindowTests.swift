import JSON
import Testing

struct JSONWindowTests {
  private func window(_ text: String) -> JSONWindow {
    var window = JSONWindow()
    window.append(Array(text.utf8))
    window.close()
    return window
  }

  @Test func `pieces are extracted whole, with their positions`() throws {
    var window = window("  \"a\\\"b\" \n{\"c\":\"}\\\"\",\"d\":{}}x")
    let string = try #require(try window.string("a key", maximumBytes: 100))
    #expect(String(decoding: string.bytes, as: UTF8.self) == #""a\"b""#)
    #expect((string.line, string.offset) == (1, 2))
    let object = try #require(try window.object("a record", maximumBytes: 100))
    #expect(String(decoding: object.bytes, as: UTF8.self) == #"{"c":"}\"","d":{}}"#)
    #expect((object.line, object.offset) == (2, 10))
    #expect(window.unexpected("a comma").description == "line 2, byte 28: expected a comma, found 'x'")
  }

  @Test func `an incomplete piece needs more bytes`() throws {
    var window = JSONWindow()
    for chunk in ["", " ", "\"ab", "\\", "\"c"] {
      window.append(Array(chunk.utf8))
      #expect(try window.string("a key", maximumBytes: 20) == nil)
    }
    window.append(Array("\"".utf8))
    #expect(try window.string("a key", maximumBytes: 20)?.bytes == Array(#""ab\"c""#.utf8))
  }

  @Test func `parts are taken together or not at all`() {
    let parts: [StaticString] = ["{", "\"results\"", ":", "["]
    var whole = window(" { \"results\"\n: [1")
    #expect(whole.take(parts, maximumBytes: 100) == true)
    #expect(whole.peek() == UInt8(ascii: "1"))
    var other = window("{\"result\":1}")
    #expect(other.take(parts, maximumBytes: 100) == false)
    #expect(other.peek() == UInt8(ascii: "{"))
    var cut = JSONWindow()
    cut.append(Array("{ \"resu".utf8))
    #expect(cut.take(parts, maximumBytes: 100) == nil)
    cut.close()
    #expect(cut.take(parts, maximumBytes: 100) == false)
  }

  @Test func `parts that do not end within the maximum are not awaited`() {
    var window = JSONWindow()
    window.append([UInt8(ascii: "{")])
    var (answer, kept) = (nil as Bool?, 1)
    while answer == nil, kept < 10_000 {
      answer = window.take(["{", "\"results\""], maximumBytes: 500)
      guard answer == nil else { break }
      window.append([UInt8](repeating: 0x20, count: 100))
      kept += 100
    }
    #expect(answer == false)
    #expect(kept <= 600)
    #expect(window.peek() == UInt8(ascii: "{"))
  }

  @Test func `a byte order mark is skipped, however it comes`() {
    var window = JSONWindow()
    for byte in [0xEF, 0xBB] as [UInt8] {
      window.append([byte])
      #expect(window.peek() == nil)
    }
    window.append([0xBF, UInt8(ascii: "{")])
    #expect(window.peek() == UInt8(ascii: "{"))
  }

  @Test(arguments: [
    ("\"abc", "line 1, byte 0: a key begins here and has no end"),
    ("", "line 1, byte 0: the text ends here; expected a key"),
    ("\n\n 7", "line 3, byte 3: expected a key, found '7'"),
    ("\u{7F}", "line 1, byte 0: expected a key, found byte 0x7f"),
    ("\"" + String(repeating: "x", count: 99), "line 1, byte 0: a key is longer than 20 bytes"),
    ("\"" + String(repeating: "x", count: 20) + "\"", "line 1, byte 0: a key is longer than 20 bytes"),
  ])
  func `an error has its position`(text: String, fault: String) {
    var window = window(text)
    let error = #expect(throws: JSONWindow.Fault.self) { try window.string("a key", maximumBytes: 20) }
    #expect(error?.description == fault)
  }

  @Test func `an endless piece is refused before it fills the memory`() {
    var window = JSONWindow()
    window.append(Array("{\"a\":\"".utf8))
    var fault: JSONWindow.Fault?
    for _ in 0..<10 where fault == nil {
      window.append([UInt8](repeating: 0x61, count: 100))
      do { _ = try window.object("a record", maximumBytes: 500) } catch { fault = error }
    }
    #expect(fault?.text == "a record is longer than 500 bytes")
  }
}
