import APNs
import Testing

@testable import Worker

struct ConcurrencyLimitTests {
  private static let quick = AnswerTimes(count: 100)
  private static let slow = AnswerTimes(count: 100, slowCount: 51)

  @Test func `it starts at the maximum and stays there while APNs is quick`() {
    var limit = ConcurrencyLimit(maximum: 512)
    let change = limit.update(Self.quick)
    #expect(change == .none)
    #expect(limit.value == 512)
  }

  @Test func `slow answers lower it by a factor, down to a minimum that still works`() {
    var limit = ConcurrencyLimit(maximum: 512)
    let change = limit.update(Self.slow)
    #expect(change == .lowered)
    #expect(limit.value == 358)
    for _ in 0..<20 { _ = limit.update(Self.slow) }
    #expect(limit.value == 32)
    let change2 = limit.update(Self.slow)
    #expect(change2 == .none)
  }

  @Test func `quick answers raise it step by step up to the maximum`() {
    var limit = ConcurrencyLimit(maximum: 512)
    let change = limit.restart()
    #expect(change == .lowered)
    #expect(limit.value == 32)
    let change2 = limit.update(Self.quick)
    #expect(change2 == .raised)
    #expect(limit.value == 64)
    for _ in 0..<13 { _ = limit.update(Self.quick) }
    #expect(limit.value == 480)
    _ = limit.update(Self.quick)
    #expect(limit.value == 512)
  }

  @Test func `a few slow devices among many do not lower it`() {
    var limit = ConcurrencyLimit(maximum: 512)
    let change = limit.update(AnswerTimes(count: 100, slowCount: 50, unanswered: .overdue))
    #expect(change == .none)
  }

  @Test func `without an answer an overdue push lowers it, a recent one changes nothing`() {
    var limit = ConcurrencyLimit(maximum: 512)
    let change = limit.update(AnswerTimes(unanswered: .recent))
    #expect(change == .none)
    let change2 = limit.update(AnswerTimes(unanswered: .overdue))
    #expect(change2 == .lowered)
    let change3 = limit.update(AnswerTimes(unanswered: .recent))
    #expect(change3 == .none)
    #expect(limit.value == 358)
  }

  @Test func `it rises while nothing is in flight`() {
    var limit = ConcurrencyLimit(maximum: 512)
    _ = limit.restart()
    let change = limit.update(AnswerTimes())
    #expect(change == .raised)
  }

  @Test(arguments: [1, 2, 7, 9, 100])
  func `small maxima never lead to a limit of zero or beyond the maximum`(maximum: Int) {
    var limit = ConcurrencyLimit(maximum: maximum)
    for step in 0..<100 {
      _ = limit.update(step % 7 < 4 ? Self.slow : Self.quick)
      #expect((1...maximum).contains(limit.value))
    }
  }

  /// A gateway that answers a fixed number of pushes a second: the more are in flight, the longer each takes.
  @Test(arguments: [20.0, 100, 400, 5000])
  func `with a gateway of limited capacity the answers stay near the bound and its capacity is used`(capacity: Double) {
    var limit = ConcurrencyLimit(maximum: 512)
    var limits: [Int] = []
    for _ in 0..<400 {
      let seconds = Double(limit.value) / capacity
      _ = limit.update(seconds > 1 ? Self.slow : Self.quick)
      limits.append(limit.value)
    }
    let settled = limits.suffix(200)
    let target = min(512, max(32, capacity))
    #expect(settled.allSatisfy { Double($0) <= target + 32 })
    #expect(settled.allSatisfy { Double($0) >= target * 0.65 })
  }
}
