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

  @Test func `while APNs refuses every token there is one mint in 20 minutes`() {
    var schedule = minted(at: 100 * minute)
    var mints = [100]
    for now in 101...400 {
      guard schedule.shouldMint(afterRefusalOf: schedule.generation, now: UInt64(now) * minute) else { continue }
      schedule.minted(now: UInt64(now) * minute)
      mints.append(now)
    }
    // The first mint is no renewal.
    #expect(mints.prefix(2) == [100, 101])
    #expect(zip(mints.dropFirst(), mints.dropFirst(2)).allSatisfy { $1 - $0 == 20 })
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
