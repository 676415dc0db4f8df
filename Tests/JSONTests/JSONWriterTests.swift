import JSON
import Testing

struct JSONWriterTests {
  @Test func `commas are only between members and elements`() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("a")
    writer.beginArray()
    writer.integer(1)
    writer.beginObject()
    writer.endObject()
    writer.null()
    writer.endArray()
    writer.key(escaping: "b" as String)
    writer.raw(Array("{\"c\":2}".utf8))
    writer.key("d")
    writer.bool(false)
    writer.endObject()
    #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"a":[1,{},null],"b":{"c":2},"d":false}"#)
  }

  @Test func `every string comes back as it was`() throws {
    let strings = [
      "", "plain", "\"\\/", "\u{0}\u{1}\n\r\t\u{1F}\u{7F}", "é😀\u{2028}", String(repeating: "x\n", count: 99),
    ]
    for string in strings {
      #expect(try JSONValue(parsing: JSONValue.string(string).bytes) == .string(string))
      let object = JSONValue.object([JSONMember(key: string, value: .null)])
      #expect(try JSONValue(parsing: object.bytes) == object)
    }
  }

  /// Each byte that a character can begin or continue with is between others, at each place of a word.
  @Test func `exactly the control characters, quotation marks and backslashes are escaped, wherever they are`() throws {
    let escaped = (UInt8(0)..<0x20).map { UnicodeScalar($0) } + ["\"", "\\"]
    for scalar in (UInt8(0)..<0x80).map({ UnicodeScalar($0) }) + ["é", "\u{80}", "\u{FFFF}", "😀"] as [UnicodeScalar] {
      for place in 0..<20 {
        for length in Set([place, 20]) {
          let before = String(repeating: "!", count: place)
          let text = before + String(scalar) + String(repeating: "~", count: length - place)
          let json = JSONValue.string(text).bytes
          #expect(try JSONValue(parsing: json) == .string(text))
          #expect((json.count == text.utf8.count + 2) == !escaped.contains(scalar))
        }
      }
    }
  }

  @Test func `every integer comes back as it was`() throws {
    for integer in [0, 7, 10, -10, 1_700_000_000_000, .max, .min] as [Int64] {
      #expect(JSONValue.integer(integer).bytes == Array(String(integer).utf8))
    }
  }

  @Test func `numbers come back and what is not finite is null`() throws {
    for number in [0.5, -1e300, 2.5e-300, 1e16] {
      #expect(try JSONValue(parsing: JSONValue.number(number).bytes) == .number(number))
    }
    #expect(JSONValue.number(.nan).bytes == Array("null".utf8))
  }
}
