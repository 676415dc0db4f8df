import Testing

@testable import Jobs
@testable import Queue

struct RetryScheduleTests {
  private let schedule = RetrySchedule(maximumAttempts: 8)

  @Test(arguments: zip(1...7, [1, 2, 4, 8, 16, 32, 64]))
  func `the delay is random, below a bound that doubles`(attempt: Int, seconds: Int) {
    let most = schedule.delay(afterAttempt: attempt, now: 0, expiration: nil, random: 0.999_999)
    #expect(most! > .seconds(Double(seconds) * 0.99))
    #expect(most! < .seconds(seconds))
    #expect(schedule.delay(afterAttempt: attempt, now: 0, expiration: nil, random: 0) == RetrySchedule.floor)
  }

  @Test func `the bound is at most 15 minutes`() {
    let patient = RetrySchedule(maximumAttempts: 1000)
    #expect(patient.delay(afterAttempt: 900, now: 0, expiration: nil, random: 0.999_999)! < .seconds(900))
  }

  @Test func `there is no delay after the last attempt`() {
    #expect(schedule.delay(afterAttempt: 8, now: 0, expiration: nil, random: 0.5) == nil)
  }

  @Test func `no attempt is due at or after the expiration`() {
    #expect(schedule.delay(afterAttempt: 3, now: 10_000, expiration: 11_000, random: 0.5) == nil)
    #expect(schedule.delay(afterAttempt: 3, now: 10_000, expiration: 30_000, random: 0.5) == .seconds(2))
  }

  @Test func `the delay is at least what the gateway asks for`() {
    #expect(
      schedule.delay(afterAttempt: 1, now: 0, expiration: nil, atLeast: .seconds(30), random: 0.5) == .seconds(30))
  }
}
