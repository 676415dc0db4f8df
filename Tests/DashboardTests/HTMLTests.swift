import DashboardSupport
import JSON
import Testing

@testable import Dashboard

@Suite("HTML") struct HTMLTests {
  private func rendered(_ content: (inout HTML) -> Void) -> String {
    String(decoding: HTML(content).bytes, as: UTF8.self)
  }

  @Test("text cannot become markup") func text() {
    #expect(
      rendered { $0.text("<script>alert('1')</script> & \"") }
        == "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;")
  }

  @Test("an attribute's value cannot leave its quotes") func attribute() {
    #expect(
      rendered { $0.element("a", ["title": "\" onclick=\"x"], "y") }
        == "<a title=\"&quot; onclick=&quot;x\">y</a>")
  }

  @Test("an attribute without a value is left out") func absent() {
    #expect(rendered { $0.void("input", ["name": "a", "checked": nil]) } == "<input name=\"a\">")
  }

  @Test(
    "control characters and characters that change the direction of writing are replaced",
    arguments: ["\u{0}", "\u{1B}", "\r", "\u{7F}", "\u{85}", "\u{202E}", "\u{2066}", "\u{2028}", "\u{FEFF}"])
  func controls(_ character: String) {
    #expect(rendered { $0.text("a\(character)b") } == "a\u{FFFD}b")
  }

  @Test("line ends, tabs, letters of other scripts and joined emoji are kept") func kept() {
    let text = "a\n\tΩ é 漢 👩\u{200D}🚀"
    #expect(rendered { $0.text(text) } == text)
  }

  @Test(
    "a form sends back exactly the value, even if another text is shown",
    arguments: ["a\u{AD}b", "\u{202E}x", "<\"'&>", "é\n"])
  func hidden(_ value: String) {
    let field = rendered { $0.hidden("name", value) }
    let escaped = value.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;").replacing("\n", with: "&#10;")
    #expect(field == "<input type=\"hidden\" name=\"name\" value=\"\(escaped)\">")
  }

  @Test(
    "an id that browsers would resolve in a path has a page",
    arguments: [".", "..", "~.", "~~..", "~", "~a", "a.b", "..."])
  func dots(_ id: String) {
    let part = PathPart.text(id)
    #expect(part != "." && part != "..")
    #expect(String(percentDecoding: part[...]).map(PathPart.id) == id)
  }

  @Test("links are relative on pages of any depth") func links() {
    #expect(Links(from: "/").link("queues").text == "./queues")
    #expect(Links(from: "/queues").link("queues", "a/b c").text == "./queues/a%2Fb%20c")
    #expect(Links(from: "/queues/x").link("").text == "../")
    #expect(Links(from: String(repeating: "/", count: 16_000)).root.utf8.count < 100)
    #expect(Links(from: "/queues/x").link("devices", query: [("user", "a&b")]).text == "../devices?user=a%26b")
  }
}
