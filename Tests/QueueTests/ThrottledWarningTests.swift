import EventLoop
import TestSupport
import Testing

@testable import Jobs
@testable import Queue

@EventLoop
struct ThrottledWarningTests {
  @Test func `the first is told at once, the others together`() async throws {
    var told: [(count: Int, last: String)] = []
    let warning = ThrottledWarning<String>(interval: .milliseconds(50)) { told.append(($0, $1)) }
    warning.note("a")
    warning.note("b")
    warning.note("c", count: 3)
    #expect(told.map(\.count) == [1])
    try await eventually("the others are told") { told.count == 2 }
    #expect(told.map(\.count) == [1, 4])
    #expect(told.map(\.last) == ["a", "c"])
  }
}
