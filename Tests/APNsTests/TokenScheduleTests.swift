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

  @Test func `a refused first token is renewed at once and then not within 20 minutes`() {
    var schedule = minted(at: 100 * minute)
    #expect(schedule.mayRenew(now: 101 * minute))
    schedule.minted(now: 101 * minute)
    #expect(!schedule.mayRenew(now: 102 * minute))
    #expect(schedule.mayRenew(now: 121 * minute))
  }

  @Test func `while APNs refuses every token there is one renewal in 20 minutes`() {
    var schedule = minted(at: 100 * minute)
    var mints = [100]
    for now in 101...400 {
      guard schedule.mayRenew(now: UInt64(now) * minute) else { continue }
      schedule.minted(now: UInt64(now) * minute)
      mints.append(now)
    }
    // The first token is not a renewal.
    #expect(mints.prefix(2) == [100, 101])
    #expect(zip(mints.dropFirst(), mints.dropFirst(2)).allSatisfy { $1 - $0 == 20 })
  }

  @Test func `a token renewed on schedule is not renewed again within 20 minutes`() {
    var schedule = minted(at: 100 * minute)
    schedule.minted(now: 150 * minute)
    #expect(!schedule.mayRenew(now: 151 * minute))
    #expect(!schedule.mayRenew(now: 169 * minute))
    #expect(schedule.mayRenew(now: 170 * minute))
  }

  @Test func `after the clock was set, or the machine suspended, a refused token is renewed at once`() {
    let step = 2 * 60 * Int64(60_000_000_000)
    for offset in [step, -step] {
      var schedule = TokenSchedule()
      schedule.minted(now: 0)
      schedule.minted(now: 100 * minute)
      #expect(!schedule.mayRenew(now: 101 * minute, clockOffset: 1_000_000_000))
      #expect(schedule.mayRenew(now: 101 * minute, clockOffset: offset))
      schedule.minted(now: 101 * minute, clockOffset: offset)
      #expect(!schedule.mayRenew(now: 102 * minute, clockOffset: offset))
    }
  }

  @Test func `time in which the machine was suspended makes a token older`() {
    var schedule = TokenSchedule()
    schedule.minted(now: 100 * minute)
    #expect(!schedule.isDue(now: 110 * minute, clockOffset: Int64(39 * minute)))
    #expect(schedule.isDue(now: 110 * minute, clockOffset: Int64(40 * minute)))
    #expect(!schedule.isDue(now: 110 * minute, clockOffset: -Int64(40 * minute)))
  }
}
