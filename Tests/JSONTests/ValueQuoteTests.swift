import Testing

@testable import JSON

struct ValueQuoteTests {
  @Test(arguments: [
    ("nowhere", "'nowhere'"), ("127.0.0.1:99999", "'127.0.0.1:99999'"), ("*", "'*'"),
    ("https://*.a.example/path", "'https://*.a.example/path'"), ("https://[::1]:443", "'https://[::1]:443'"),
    ("https://user:word@host.example:8443/path", "'https://…@host.example:8443/path'"),
    ("https://host.example/?token=word", "'https://host.example/…'"),
    ("https://user:a/word@host", "'https://…'"), ("redis://default:word", "'redis://…'"),
    ("https://us er:word@host", "'https://…@host'"), ("http://a word@host b", "'http://…@…'"),
    ("user:word@host", "'…' (14 bytes, not shown)"),
    ("-----BEGIN PRIVATE KEY-----", "'…' (27 bytes, not shown)"),
  ])
  func `credentials in a plain value are not shown`(value: String, quote: String) {
    #expect(ValueQuote.text(value) == quote)
  }

  @Test func `a run of base64 is not shown, and a long text is cut`() {
    #expect(ValueQuote.text("x " + String(repeating: "a/", count: 20)) == "'…' (42 bytes, not shown)")
    #expect(ValueQuote.text(String(repeating: "ab,", count: 50)).hasSuffix("ab,…'"))
  }

  @Test(arguments: [
    ("https://host.example/hooks/word", "'https://host.example/…'"), ("host.example:443", "'…' (16 bytes, not shown)"),
    ("word", "'…' (4 bytes, not shown)"), ("http://x", "'http://x'"),
  ])
  func `only the host of a URL with a token is shown`(value: String, quote: String) {
    #expect(ValueQuote.text(value, as: .url) == quote)
  }

  @Test(arguments: [
    ("/etc/martlet/AuthKey_ABC123DEFG.p8", true), ("AuthKey.p8", true), ("../key.pem", true),
    ("/run/credentials/martlet@1.service/key", true), ("/x:word@host", false), ("word", false),
    ("/\(String(repeating: "a", count: 64))", false), ("/a\n/b", false), ("MIGTAgEA/MBMGByqGSM49", false),
  ])
  func `a path is shown, and text in its place is not`(value: String, isShown: Bool) {
    #expect((ValueQuote.text(value, as: .path) == "'\(value)'") == isShown)
  }

  @Test func `a secret is never shown`() {
    #expect(ValueQuote.text("word", as: .secret) == "'…' (4 bytes, not shown)")
  }
}
