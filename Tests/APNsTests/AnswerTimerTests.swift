import Testing

@testable import APNs

struct AnswerTimerTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func `answers are counted once, slow ones apart`() {
    var timer = AnswerTimer(slowAnswer: .seconds(1))
    timer.answered(sentAt: 5 * Self.second, now: 6 * Self.second)
    timer.answered(sentAt: 5 * Self.second, now: 6 * Self.second + 1)
    let times = timer.take(oldest: nil, now: 7 * Self.second)
    #expect(times == AnswerTimes(count: 2, slowCount: 1))
    let times2 = timer.take(oldest: nil, now: 7 * Self.second)
    #expect(times2 == AnswerTimes())
  }

  @Test func `a push without an answer is overdue after the same time`() {
    var timer = AnswerTimer(slowAnswer: .seconds(1))
    let times = timer.take(oldest: 5 * Self.second, now: 6 * Self.second)
    #expect(times.unanswered == .recent)
    let times2 = timer.take(oldest: 5 * Self.second, now: 6 * Self.second + 1)
    #expect(times2.unanswered == .overdue)
  }

  @Test func `after a restart only pushes sent since then count`() {
    var timer = AnswerTimer(slowAnswer: .seconds(1))
    timer.answered(sentAt: 1 * Self.second, now: 9 * Self.second)
    timer.restart(now: 10 * Self.second)
    timer.answered(sentAt: 9 * Self.second, now: 20 * Self.second)
    timer.answered(sentAt: 10 * Self.second, now: 20 * Self.second)
    let times = timer.take(oldest: 9 * Self.second, now: 20 * Self.second)
    #expect(times == AnswerTimes(count: 1, slowCount: 1, unanswered: .recent))
  }
}
