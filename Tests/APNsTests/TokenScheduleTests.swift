import Testing

@testable import APNs

struct TokenScheduleTests {
  private let minute: UInt64 = 60_000_000_000

  private func minted(at now: UInt64) -> TokenSchedule {
    var schedule = TokenSchedule()
    schedule.minted(now: now)
    return schedule
  }

  @Test func `a token is due at the start and after 50 minutes`() {
    #expect(TokenSchedule().isDue(now: 0))
    let schedule = minted(at: 100 * minute)
    #expect(!schedule.isDue(now: 149 * minute))
    #expect(schedule.isDue(now: 150 * minute))
  }

  @Test func `a refused young token is replaced once and not again within 20 minutes`() {
    var schedule = minted(at: 100 * minute)
    #expect(schedule.shouldMint(afterRefusalOf: 1, now: 101 * minute) == true)
    schedule.minted(now: 101 * minute)
    #expect(schedule.shouldMint(afterRefusalOf: 2, now: 102 * minute) == false)
    #expect(schedule.shouldMint(afterRefusalOf: 2, now: 121 * minute) == true)
  }

  @Test func `refusals of an older token do not mint`() {
    var schedule = minted(at: 100 * minute)
    schedule.minted(now: 101 * minute)
    #expect(schedule.shouldMint(afterRefusalOf: 1, now: 102 * minute) == false)
  }

  @Test func `a mint in due time allows an early one again`() {
    var schedule = minted(at: 100 * minute)
    #expect(schedule.shouldMint(afterRefusalOf: 1, now: 101 * minute) == true)
    schedule.minted(now: 101 * minute)
    schedule.minted(now: 151 * minute)
    #expect(schedule.shouldMint(afterRefusalOf: 3, now: 152 * minute) == true)
  }
}
