import Testing

@testable import Webhook

struct WebhookSecretTests {
  /// The example of the specification's libraries.
  @Test func `the signature is that of Standard Webhooks`() throws {
    let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let signature = secret.signature(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test func `several keys sign during a rotation`() throws {
    let both = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw a-plain-secret-of-text"))
    let one = try #require(WebhookSecret("a-plain-secret-of-text"))
    let words = both.signature(id: "a", timestamp: 1, body: []).split(separator: " ")
    #expect(words.count == 2)
    #expect(String(words[1]) == one.signature(id: "a", timestamp: 1, body: []))
  }

  @Test(arguments: [
    "", " ", "short", "whsec_", "whsec_AAAA", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw short",
  ])
  func `a secret that is too short or no base64 is refused`(text: String) {
    #expect(WebhookSecret(text) == nil)
  }
}
