import Testing

@testable import APNs

struct APNsAnswerTests {
  private func answer(_ status: Int, _ body: String) -> APNsAnswer {
    APNsAnswer(status: status, body: Array(body.utf8), apnsUniqueID: nil, retryAfterSeconds: nil)
  }

  @Test func `reason and timestamp are read in either order and with spaces`() {
    let expected = APNsAnswer(status: 410, reason: "Unregistered", timestamp: 1_700_000_000_001)
    #expect(answer(410, #"{"reason":"Unregistered","timestamp":1700000000001}"#) == expected)
    #expect(answer(410, "{ \"timestamp\" : 1700000000001 ,\n\"reason\" :\t\"Unregistered\" }") == expected)
  }

  @Test(arguments: [
    "", "{", "<html>502</html>", "{\"reason\"", "{\"reason\":", "{\"reason\":3}", "{\"reason\":null}", "\"reason\":\"",
    "\"reason\"", "{\"reason\":\"\"}", "{\"reason\":\"\u{0}\"}",
  ])
  func `a refusal without a readable reason is named by its status`(body: String) {
    #expect(answer(502, body).reason == "HTTP_502")
  }

  @Test func `a hostile reason is cut at 100 characters and at the first control character`() {
    #expect(answer(400, "{\"reason\":\"\(String(repeating: "x", count: 4000))\"}").reason?.count == 100)
    #expect(answer(400, "{\"reason\":\"Bad\u{1B}[2J\"}").reason == "Bad")
  }

  @Test(arguments: ["1700000000", "1700000000000", "1700000000000000", "1700000000000000000"])
  func `a timestamp is read in its unit`(timestamp: String) {
    #expect(answer(410, #"{"timestamp":\#(timestamp)}"#).timestamp == 1_700_000_000_000)
  }

  @Test func `a timestamp beyond 64 bits is ignored`() {
    #expect(answer(410, #"{"timestamp":99999999999999999999999}"#).timestamp == nil)
    #expect(answer(410, #"{"timestamp":"yesterday"}"#).timestamp == nil)
    #expect(answer(410, #"{"timestamp":-1}"#).timestamp == -1)
    #expect(answer(410, #"{"timestamp":0}"#).timestamp == 0)
  }

  @Test func `the body of a 200 is not read`() {
    #expect(answer(200, #"{"reason":"Unregistered"}"#) == APNsAnswer(status: 200))
  }

  @Test func `known response headers are stored and others ignored`() {
    var stream = PushStream()
    func take(_ name: String, _ value: String) {
      Array(name.utf8).withUnsafeBufferPointer { name in
        Array(value.utf8).withUnsafeBufferPointer { stream.receive(name: name, value: $0) }
      }
    }
    take(":status", "103")
    #expect(stream.status == 0)
    take(":status", "429")
    take("retry-after", "30")
    take("apns-unique-id", "unique")
    take("retrysafter", "40")
    #expect(stream.status == 429)
    #expect(stream.retryAfterSeconds == 30)
    #expect(stream.uniqueID == "unique")
    for (text, seconds) in [
      ("3600", 3600), ("999999999", 3600), ("99999999999999999999999", 3600), ("007", 7), ("0", 0),
    ] {
      take("retry-after", text)
      #expect(stream.retryAfterSeconds == seconds)
    }
    for text in ["-5", "", "1e9", "30.5", " 30", "+30"] {
      take("retry-after", "30")
      take("retry-after", text)
      #expect(stream.retryAfterSeconds == nil)
    }
    take("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")
    #expect(stream.retryAfterSeconds == nil)
    take(":status", "99999999999999999999")
    #expect(stream.status == 429)
  }
}
