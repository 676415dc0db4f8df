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
    writer.key("b" as String)
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
