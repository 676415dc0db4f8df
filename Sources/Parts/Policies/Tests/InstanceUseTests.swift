import Jobs
import Operations
import Testing

@testable import Policies

struct InstanceUseTests {
  private let utc = LocalTime { _ in 0 }
  /// 2026-01-01 12:00 UTC.
  private let noon: Int64 = 1_767_268_800_000

  private func state(_ seconds: [Int64], _ name: String = "action_needed") -> PolicyState {
    var state = PolicyState()
    state.grants = seconds.sorted(by: >).map { .init(job: "n\($0)", className: name, at: noon - $0 * 1000) }
    return state
  }

  private func use(
    _ state: PolicyState, quiet: Bool = false
  ) -> (limits: [LimitUse], forecasts: [(className: String, decision: PolicyDecision)]) {
    var policy = DeliveryPolicy.builtIn
    policy.quietHours = quiet ? QuietHours("11:00-13:00") : nil
    return (policy.usage(of: state, now: noon), policy.forecasts(state, now: noon, localTime: utc))
  }

  @Test func `an instance that got nothing may get everything`() {
    let use = use(PolicyState())
    #expect(use.limits.map(\.used) == [0, 0])
    #expect(use.limits.allSatisfy { $0.fullUntil == nil })
    #expect(use.forecasts.allSatisfy { $0.decision == .send })
  }

  @Test func `a full limit says when one more is allowed`() {
    // 3 in 5 minutes: the oldest of the three leaves after 300 seconds.
    let use = use(state([10, 60, 200, 400]))
    #expect(use.limits[0].used == 3)
    #expect(use.limits[0].fullUntil == noon + 100_000)
    #expect(use.limits[1].used == 4)
    #expect(use.limits[1].fullUntil == nil)
    #expect(use.forecasts.first { $0.className == "action_needed" }?.decision == .suppress(.limit))
  }

  @Test func `more than a limit allows waits until enough have left`() {
    let use = use(state([1, 2, 3, 4]))
    #expect(use.limits[0].fullUntil == noon - 3000 + 300_000)
  }

  @Test func `each class is decided by its own rules`() {
    let use = use(state([30], "attention_ping"))
    let decisions = Dictionary(uniqueKeysWithValues: use.forecasts.map { ($0.className, $0.decision) })
    #expect(decisions["message_delivered"] == .suppress(.collapsed))
    #expect(decisions["safety_critical"] == .send)
  }

  @Test func `in quiet hours the forecast names their end`() {
    let decisions = use(PolicyState(), quiet: true).forecasts.map(\.decision)
    #expect(decisions.contains(.deferUntil(noon + 3_600_000)))
    #expect(decisions.contains(.suppress(.quietHours)))
    #expect(decisions.contains(.send))
  }

  @Test func `hours are read as they are written`() {
    #expect(QuietHours("22:30-07:05")?.text == "22:30-07:05")
  }
}
