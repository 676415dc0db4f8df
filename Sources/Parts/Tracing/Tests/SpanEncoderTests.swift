import JSON
import Testing

@testable import Tracing

/// The JSON of spans, by the definition of OTLP/HTTP.
struct SpanEncoderTests {
  private let encoder = SpanEncoder(serviceName: "martlet", version: "1.2.3", instance: "host-1-a")

  private func span(_ change: (inout Span) -> Void = { _ in }) -> Span {
    var span = Span(
      traceID: "4bf92f3577b34da6a3ce929d0e0e4736", id: "00f067aa0ba902b7", parentID: nil, name: "martlet job",
      kind: .consumer, start: 1_700_000_000_000_000_001, end: UInt64.max)
    change(&span)
    return span
  }

  private func spans(_ json: [UInt8]) throws -> [JSONValue] {
    let root = try JSONValue(parsing: json)
    return root["resourceSpans"]?.array?.first?["scopeSpans"]?.array?.first?["spans"]?.array ?? []
  }

  @Test func `a request has the shape that a collector expects`() throws {
    let json = encoder.json([
      span {
        $0.parentID = "aaaaaaaaaaaaaaaa"
        $0.set("a", "b")
        $0.set("none", nil)
        $0.set("n", Int64.min)
        $0.error = "gave up"
      }
    ])
    let expected = """
      {"resourceSpans":[{"resource":{"attributes":[\
      {"key":"service.name","value":{"stringValue":"martlet"}},\
      {"key":"service.version","value":{"stringValue":"1.2.3"}},\
      {"key":"service.instance.id","value":{"stringValue":"host-1-a"}}]},\
      "scopeSpans":[{"scope":{"name":"martlet","version":"1.2.3"},"spans":[\
      {"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","parentSpanId":"aaaaaaaaaaaaaaaa",\
      "name":"martlet job","kind":5,"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"18446744073709551615",\
      "attributes":[{"key":"a","value":{"stringValue":"b"}},{"key":"n","value":{"intValue":"-9223372036854775808"}}],\
      "status":{"code":2,"message":"gave up"}}]}]}]}
      """
    #expect(String(decoding: json, as: UTF8.self) == expected)
  }

  @Test func `a span without parent and error has neither member`() throws {
    let only = try #require(try spans(encoder.json([span()])).first)
    #expect(only["parentSpanId"] == nil)
    #expect(only["status"] == nil)
  }

  @Test(arguments: ["\"},{\"", "\u{0}\n\u{1B}[31m", "</script>", "😀é", String(repeating: "\\", count: 1000)])
  func `texts from outside stay texts`(text: String) throws {
    let span = span {
      $0.set("text", text)
      $0.error = text
    }
    let read = try #require(try spans(encoder.json([span, span])).last)
    #expect(read["attributes"]?.array?.first?["value"]?["stringValue"]?.string == text)
    #expect(read["status"]?["message"]?.string == text)
  }

  @Test func `no span is a valid request too`() throws {
    #expect(try spans(encoder.json([])).isEmpty)
  }
}
