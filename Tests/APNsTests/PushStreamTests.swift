import Testing

@testable import APNs

struct PushStreamTests {
  private func stream(status: Int = 0, isWritten: Bool = true, _ end: PushStream.End) -> PushStream {
    var stream = PushStream()
    stream.status = status
    stream.isWritten = isWritten
    stream.end = end
    return stream
  }

  @Test func `a refused stream was not processed`() {
    #expect(stream(.refused).outcome == .notProcessed("RefusedStream"))
  }

  @Test func `any other reset of a written push leaves it uncertain`() {
    #expect(stream(.reset(2)).outcome == .uncertain("StreamReset_2"))
  }

  @Test func `a push whose payload was not written was not processed, for any code of a reset`() {
    #expect(stream(isWritten: false, .reset(2)).outcome == .notProcessed("StreamReset_2"))
  }

  @Test func `a status is the answer even when the stream is reset after it`() {
    #expect(stream(status: 200, isWritten: false, .reset(0)).outcome == .answered(APNsAnswer(status: 200)))
    #expect(stream(status: 500, .reset(8)).outcome == .answered(APNsAnswer(status: 500, reason: "HTTP_500")))
  }

  @Test func `an end without a status is uncertain`() {
    #expect(stream(.finished).outcome == .uncertain("NoAnswer"))
  }

  /// A stream that has received these fields.
  private func stream(_ fields: KeyValuePairs<String, String>) -> PushStream {
    var stream = PushStream()
    for (name, value) in fields {
      let (name, value) = (Array(name.utf8), Array(value.utf8))
      name.withUnsafeBufferPointer { name in
        value.withUnsafeBufferPointer { value in stream.receive(name: name, value: value) }
      }
    }
    return stream
  }

  @Test func `the status is the first that is final`() {
    #expect(stream([":status": "103", ":status": "200"]).status == 200)
    #expect(stream([":status": "410", ":status": "200"]).status == 410)
    #expect(stream([":stacks": "200", ":path": "200", ":status": "503"]).status == 503)
  }

  @Test(arguments: ["", "20", "099", "2000", "200000000", "0200", " 200", "2x0", "-20", "+20"])
  func `a status that is not three digits is none`(value: String) {
    #expect(stream([":status": value]).status == 0)
  }

  @Test func `an apns-unique-id of anything but visible ASCII is ignored`() {
    #expect(stream(["apns-unique-id": "1b2C-3"]).uniqueID == "1b2C-3")
    for value in ["a\nb", "a b", "a\u{0}", "é", "\u{7F}", String(repeating: "a", count: 65)] {
      #expect(stream(["apns-unique-id": value]).uniqueID == nil)
    }
  }
}
