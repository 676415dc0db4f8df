import EventLoop
import Testing

struct BackoffTests {
  private let backoff = Backoff(base: .seconds(1), cap: .seconds(60))

  @Test(arguments: zip(1...9, [1, 2, 4, 8, 16, 32, 60, 60, 60]))
  func `the bound doubles from the base to the cap`(attempt: Int, seconds: Int) {
    #expect(backoff.delay(attempt: attempt, random: 1) == .seconds(seconds))
    #expect(backoff.delay(attempt: attempt, random: 0) == .zero)
  }

  @Test(arguments: [60, 1000, 1_000_000_000, Int.max]) func `a high attempt number does not overflow`(attempt: Int) {
    #expect(backoff.delay(attempt: attempt, random: 1) == .seconds(60))
    let long = Backoff(base: .nanoseconds(1), cap: .seconds(100 * 365 * 86_400))
    #expect(long.delay(attempt: attempt, random: 0.5) <= long.cap)
  }

  @Test(arguments: [0, -1, Int.min + 1]) func `an attempt number below 1 counts as 1`(attempt: Int) {
    #expect(backoff.delay(attempt: attempt, random: 1) == .seconds(1))
  }

  @Test func `a base above the cap is the cap`() {
    #expect(Backoff(base: .seconds(9), cap: .seconds(2)).delay(attempt: 1, random: 1) == .seconds(2))
  }

  @Test func `the jitter covers the whole range and stays within it`() {
    var shares = Set<Int>()
    for _ in 0..<2_000 {
      let delay = backoff.delay(attempt: 5, random: .random(in: 0...1))
      #expect((.zero ... .seconds(16)).contains(delay))
      shares.insert(Int(min(delay / .seconds(16) * 10, 9)))
    }
    #expect(shares == Set(0..<10))
  }
}
