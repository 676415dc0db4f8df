import Testing

@testable import Dashboard

/// The text of a job as operators read it.
struct PayloadTextTests {
  private let token = String(repeating: "0123456789abcdef", count: 4)

  private func text(_ job: String, admin: Bool = false) -> String {
    PayloadText(showsTokens: admin).text(Array(job.utf8))
  }

  @Test func `a job is indented`() {
    #expect(
      text(#"{"to":{"user":"a"},"n":[1,true,null],"o":{},"e":[]}"#) == """
        {
          "to": {
            "user": "a"
          },
          "n": [
            1,
            true,
            null
          ],
          "o": {},
          "e": []
        }
        """)
  }

  @Test func `tokens are shortened unless an admin reads`() {
    for job in [
      #"{"to":{"token":"\#(token)"}}"#, #"{"to":{"tokens":["a","\#(token)"]}}"#, #"{"data":{"x":"see \#(token)!"}}"#,
      #"{"to":{"token":"\#(token)"#, token,
    ] {
      #expect(!text(job).contains(token), "\(job)")
      #expect(text(job).contains("01234567"))
      #expect(text(job, admin: true).contains(token))
    }
    #expect(!text(#"{"to":{"token":"fcm:AbCdEfGhIjKlMnOpQrStUvWxYz"}}"#).contains("UvWxYz"))
  }

  @Test func `what is no JSON is shown as it is`() {
    #expect(text("not JSON \u{0}") == "not JSON \u{0}")
    #expect(PayloadText(showsTokens: false).text([0xFF, 0x61]) == "\u{FFFD}a")
  }
}
