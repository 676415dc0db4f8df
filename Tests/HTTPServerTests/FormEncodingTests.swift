import HTTPServer
import JSON
import Testing

struct FormEncodingTests {
  @Test func `fields are decoded in their order and repeated ones kept`() throws {
    let items = try #require(FormEncoding.items(of: "a=1+2&b=%C3%A9&a&=c&d=e=f&&"))
    #expect(items.map(\.name) == ["a", "b", "a", "", "d"])
    #expect(items.map(\.value) == ["1 2", "é", "", "c", "e=f"])
    #expect(FormEncoding.items(of: "")?.isEmpty == true)
  }

  @Test(arguments: ["%", "a=%4", "a=%zz", "a=%ff", "%c3=a", "a=%+1", "a=%１１"])
  func `a malformed escape or text that is not UTF-8 is refused`(text: String) {
    #expect(FormEncoding.items(of: text) == nil)
  }

  @Test(arguments: [("a+b", "a+b"), ("%2561", "%61"), ("%2F..", "/.."), ("%00", "\0"), ("é%41", "éA")])
  func `a part of a path is decoded once, and a plus is kept`(text: String, decoded: String) {
    #expect(String(percentDecoding: text) == decoded)
  }

  @Test func `there are at most 100 items`() {
    #expect(FormEncoding.items(of: String(repeating: "&a=b&", count: 100))?.count == 100)
    #expect(FormEncoding.items(of: String(repeating: "a&", count: 101)) == nil)
  }
}
