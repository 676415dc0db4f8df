import DashboardSupport
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
    for key in ["token", "deviceToken", "push_tokens"] {
      #expect(!text(#"{"data":{"\#(key)":["fcm:AbCdEfGhIjKlMnOpQrStUvWxYz"]}}"#).contains("UvWxYz"))
    }
  }

  @Test(arguments: [
    #"{"to":{"token":"fcm:AbCdEfGhIjKlMnOpQrStUvWxYz"}, oops"#, #"{"to":{"tokens":["a", "AbCdEfGhIjKl.MnOpQrStUvWxYz""#,
    #"{"to":{'token' : 'AbCdEfGhIjKlMnOpQrStUvWxYz'"#, "token=AbCdEfGhIjKlMnOpQrStUvWxYz&x=1",
    #"{\"deviceToken\":\"AbCdEfGhIjKlMnOpQrStUvWxYz\"}"#,
    #"{"data":{"x":"{\"token\":\"AbCdEfGhIjKlMnOpQrStUvWxYz\"}"}}"#,
    #"{"to":{"user":"AbCdEfGhIjKlMnOpQrStUvWxYz/+0123456789012345678901234567890UvWxYz="#,
  ])
  func `what follows a token's key, and long runs of base64, are shortened also where no JSON is`(job: String) {
    #expect(!text(job).contains("UvWxYz"), "\(job)")
    #expect(text(job, admin: true).contains("UvWxYz"))
  }

  @Test func `other text stays, also behind the word token`() {
    for text in [
      #"{"to":{"user":"alice"},"title":"Your token is here, and a sentence of some length","#,
      #"{"to":{"user":"alice"},"url":"https://example.com/a/b/c","x":,"#, #"{"to":{"token":"short"}"#,
    ] {
      #expect(self.text(text) == text)
    }
  }

  @Test func `what is no JSON is shown as it is`() {
    #expect(text("not JSON \u{0}") == "not JSON \u{0}")
    #expect(PayloadText(showsTokens: false).text([0xFF, 0x61]) == "\u{FFFD}a")
  }
}
