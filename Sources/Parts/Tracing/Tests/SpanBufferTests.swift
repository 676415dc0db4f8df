import HTTPClient
import Testing

@testable import Tracing

/// What waits for a collector is bounded, and what is dropped is counted.
struct SpanBufferTests {
  private func spans(_ numbers: Range<Int>) -> [Span] {
    numbers.map {
      Span(traceID: "t", id: "\($0)", parentID: nil, name: "n", kind: .internal, start: 0, end: 0)
    }
  }

  @Test func `spans leave in their order, in batches`() {
    var buffer = SpanBuffer()
    buffer.append(spans(0..<600))
    #expect(buffer.isBatchFull)
    #expect(buffer.takeBatch() == spans(0..<SpanBuffer.batch))
    #expect(!buffer.isBatchFull)
    #expect(buffer.takeBatch() == spans(SpanBuffer.batch..<600))
    #expect(buffer.isEmpty)
    #expect(buffer.takeBatch() == [])
    #expect(buffer.dropped == 0)
  }

  @Test func `the latest spans are dropped when there is no room`() {
    var buffer = SpanBuffer()
    buffer.append(spans(0..<5000))
    #expect(buffer.count == SpanBuffer.maximumSpans)
    #expect(buffer.dropped == 5000 - SpanBuffer.maximumSpans)
    buffer.append(spans(0..<1))
    #expect(buffer.dropped == 5001 - SpanBuffer.maximumSpans)
    #expect(buffer.takeBatch().first?.id == "0")
  }

  @Test func `a batch that is put back is sent first, and the bound stays`() {
    var buffer = SpanBuffer()
    buffer.append(spans(0..<SpanBuffer.maximumSpans))
    let batch = buffer.takeBatch()
    buffer.append(spans(9000..<9600))
    let before = buffer.dropped
    buffer.putBack(batch)
    #expect(buffer.count == SpanBuffer.maximumSpans)
    #expect(buffer.dropped > before)
    #expect(buffer.takeBatch() == batch)
  }

  @Test(arguments: [
    (200, ExportResult.accepted), (202, .accepted), (429, .retry("HTTP 429")), (503, .retry("HTTP 503")),
    (400, .refused("HTTP 400")), (404, .refused("HTTP 404")), (302, .refused("HTTP 302")), (500, .refused("HTTP 500")),
  ])
  func `the status of an answer decides whether spans are sent again`(status: Int, result: ExportResult) {
    #expect(ExportResult(status: status) == result)
  }

  @Test func `a collector that cannot be reached is tried again`() {
    for error in [HTTPClientError.refused("x"), .timedOut("x"), .unresolved("x"), .connection("x")] {
      #expect(ExportResult(error) == .retry("x"))
    }
    guard case .retry("x", let fix) = ExportResult(HTTPClientError.certificate("x")) else {
      Issue.record("it is not tried again")
      return
    }
    #expect(fix.contains("update-ca-certificates"))
    #expect(ExportResult(HTTPClientError.configuration("x")) == .refused("x"))
  }
}
