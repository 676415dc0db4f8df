import EventLoop
import Telemetry
import TestSupport
import Testing

@EventLoop
struct ThrottledWarningTests {
  @Test func `the first is written at once, the others together`() async throws {
    var written: [(count: Int, last: String)] = []
    let warning = ThrottledWarning<String>(interval: .milliseconds(50)) { written.append(($0, $1)) }
    warning.warn("a")
    warning.warn("b")
    warning.warn("c", count: 3)
    #expect(written.map(\.count) == [1])
    try await eventually("the others are written") { written.count == 2 }
    #expect(written.map(\.count) == [1, 4])
    #expect(written.map(\.last) == ["a", "c"])
  }
}
