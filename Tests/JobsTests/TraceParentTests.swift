import Testing

@testable import Jobs

/// Which texts name a trace.
struct TraceParentTests {
  private static let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test func `a traceparent has its parts`() throws {
    let trace = try #require(TraceParent(Self.text))
    #expect(trace.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(trace.parentID == "00f067aa0ba902b7")
    #expect(trace.isSampled)
    #expect(trace.text == Self.text)
  }

  @Test(arguments: [("00", false), ("01", true), ("02", false), ("03", true), ("ff", true)])
  func `the last bit of the flags says whether the trace is recorded`(flags: String, isSampled: Bool) throws {
    let trace = try #require(TraceParent("\(Self.text.dropLast(2))\(flags)"))
    #expect(trace.isSampled == isSampled)
  }

  @Test(arguments: [
    "", "00", text + "0", String(text.dropLast()), text.uppercased(), " " + text, text + "\n",
    "\u{0}" + text.dropFirst(),
    text.replacing("-", with: "_"), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0é", "ff" + text.dropFirst(2), "01" + text.dropFirst(2),
  ])
  func `other texts are refused`(text: String) {
    #expect(TraceParent(text) == nil)
  }

  @Test(arguments: [text, "01" + text.dropFirst(2), "cc\(text.dropFirst(2))-later-fields"])
  func `a header of a later version is taken as version 00`(header: String) {
    #expect(TraceParent(header: header)?.text == Self.text)
  }

  @Test(arguments: [
    "", "00", "ff" + text.dropFirst(2), text + "-more", text + "x", "01\(text.dropFirst(2))x", text.uppercased(),
    "0g" + text.dropFirst(2), "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    String(repeating: "é", count: 30),
  ])
  func `a malformed header is no trace`(header: String) {
    #expect(TraceParent(header: header) == nil)
  }
}
