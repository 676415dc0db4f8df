import Testing

@testable import HTTPClient

/// What is refused before anything is sent.
struct HTTPCallTests {
  @Test(arguments: ["https://collector.example/v1/traces", "http://127.0.0.1:4318", "https://[::1]:8443/a?b=c"])
  func `http and https URLs are accepted`(url: String) throws {
    try HTTPCall.check(url: url)
  }

  @Test(arguments: [
    "", "collector.example", "https://", "file:///etc/passwd", "ftp://host/", "gopher://host/",
    "https://host/a b", "https://host/\r\nX: y", "https://host/\u{0}", "javascript:alert(1)",
  ])
  func `other URLs are refused`(url: String) {
    #expect(throws: HTTPClientError.self) { try HTTPCall.check(url: url) }
  }

  @Test func `the error for a URL does not contain its password`() {
    do throws(HTTPClientError) {
      try HTTPCall.check(url: "ftp://user:secret@host/")
      Issue.record("it was accepted")
    } catch {
      #expect(!error.description.contains("secret"))
    }
  }

  @Test(arguments: [("", "value"), ("two words", "value"), ("a:b", "value"), ("X", "a\r\nY: b"), ("X", "a\u{0}b")])
  func `a header field that would become another is refused`(name: String, value: String) {
    let call = HTTPCall(url: "https://host/", headers: [(name, value)])
    #expect(throws: HTTPClientError.self) { try call.headerLines() }
  }

  @Test func `fields that were not asked for are taken away`() throws {
    let call = HTTPCall(url: "https://host/", headers: [("content-type", "application/json"), ("X-Empty", "")])
    #expect(try call.headerLines() == ["Expect:", "content-type: application/json", "X-Empty;"])
    #expect(try HTTPCall(url: "https://host/").headerLines() == ["Expect:", "Content-Type:"])
  }

  @Test(arguments: [
    ("https://Host.example/x", "https://Host.example:443", "Host.example"),
    ("http://host:8080", "http://host:8080", "host:8080"), ("https://[::1]", "https://[::1]:443", "[::1]"),
    ("HTTPS://host:443", "https://host:443", "host"),
  ])
  func `an address has an origin and an authority`(url: String, origin: String, authority: String) throws {
    let address = try #require(WebAddress(url))
    #expect(address.origin == origin)
    #expect(address.authority == authority)
  }
}
