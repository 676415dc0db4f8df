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
}
