import Operations
import Testing

@testable import Policies

struct PolicyExplainerTests {
  /// 2026-11-21 12:30:00 UTC.
  private static let now: Int64 = 1_795_264_200_000

  @Test func `an instance tells the limits of its policies`() {
    var state = PolicyState()
    state.grants = (0..<3).map { .init(job: "\($0)", className: "action_needed", at: Self.now - 10_000) }
    state.held = .init(job: "9", until: Self.now + 60_000)
    let text = TimeText(now: Self.now, localTime: LocalTime { _ in 3600 })
    #expect(
      PolicyExplainer.findings(.builtIn, state, text).map(\.text) == [
        "Policy nyra: 3 of 3 notifications in 5 min are used; the next is allowed at 13:34:50.",
        "Policy nyra: 3 of 20 notifications in 1 day are used.", "Policy nyra holds one notification until 13:31:00.",
      ])
  }
}
