import Testing

@testable import APNs

struct TokenScheduleTests {
  private let minute: UInt64 = 60_000_000_000

  /// A schedule with one token of the fleet. Times are minutes; with an offset of zero also of unix time.
  private func minted(at now: UInt64, offset: Int64 = 0) -> TokenSchedule {
    var schedule = TokenSchedule()
    mint(&schedule, at: now, offset: offset)
    return schedule
  }

  private func mint(_ schedule: inout TokenSchedule, at now: UInt64, offset: Int64 = 0) {
    schedule.minted(
      schedule.due(now: now * minute, clockOffset: offset), now: now * minute, clockOffset: offset)
  }

  private func renew(_ schedule: inout TokenSchedule, at now: UInt64, offset: Int64 = 0) {
    schedule.minted(
      schedule.renewal(now: now * minute, clockOffset: offset), now: now * minute, clockOffset: offset)
  }

  private func minutes(_ count: Int64) -> Int64 { count * Int64(minute) }

  // MARK: - The fleet's token

  @Test func `a token is due at the start, and at the start of each window of 50 minutes`() {
    #expect(TokenSchedule().isDue(now: 0, clockOffset: 0))
    for start: UInt64 in [100, 101, 149] {
      let schedule = minted(at: start)
      #expect(!schedule.isDue(now: 150 * minute - 1, clockOffset: 0))
      #expect(schedule.isDue(now: 150 * minute, clockOffset: 0))
    }
  }

  @Test func `all machines issue a token at the start of the same window, whenever they were started`() {
    let unix = minutes(1_000_049)
    for uptime: UInt64 in [1, 49, 123_456] {
      let schedule = TokenSchedule()
      let issue = schedule.due(now: uptime * minute, clockOffset: unix - minutes(Int64(uptime)))
      #expect(issue == .window(1_000_000 * 60))
    }
  }

  @Test func `time in which the machine was suspended makes a token older`() {
    let schedule = minted(at: 100)
    #expect(!schedule.isDue(now: 110 * minute, clockOffset: minutes(39)))
    #expect(schedule.isDue(now: 110 * minute, clockOffset: minutes(40)))
    #expect(!schedule.isDue(now: 110 * minute, clockOffset: -minutes(40)))
  }

  // MARK: - Refused tokens

  @Test func `a refused token of the fleet is replaced with one of the own clock`() {
    var schedule = minted(at: 120)
    #expect(schedule.mayRenew(now: 121 * minute, clockOffset: 0))
    #expect(schedule.renewal(now: 121 * minute, clockOffset: 0) == .ownClock(120 * 60))
    renew(&schedule, at: 121)
    #expect(schedule.generation == 2)
    #expect(!schedule.mayRenew(now: 122 * minute, clockOffset: 0))
    #expect(schedule.mayRenew(now: 141 * minute, clockOffset: 0))
  }

  @Test func `an own token is replaced with the fleet's in the next window, but not within 20 minutes`() {
    var early = minted(at: 100)
    renew(&early, at: 105)
    #expect(!early.isDue(now: 150 * minute - 1, clockOffset: 0))
    #expect(early.isDue(now: 150 * minute, clockOffset: 0))
    #expect(early.due(now: 150 * minute, clockOffset: 0) == .window(150 * 60))
    var late = minted(at: 100)
    renew(&late, at: 149)
    #expect(!late.isDue(now: 169 * minute - 1, clockOffset: 0))
    #expect(late.isDue(now: 169 * minute, clockOffset: 0))
    #expect(late.due(now: 169 * minute, clockOffset: 0) == .window(150 * 60))
  }

  @Test func `an own token is replaced with the fleet's when the clock was set`() {
    for step in [minutes(12), -minutes(12)] {
      var schedule = minted(at: 120)
      renew(&schedule, at: 121)
      #expect(!schedule.isDue(now: 122 * minute, clockOffset: 1_000_000_000))
      #expect(schedule.isDue(now: 122 * minute, clockOffset: step))
      #expect(schedule.due(now: 122 * minute, clockOffset: step) == .window(100 * 60))
    }
  }

  @Test func `while APNs refuses every token there is one renewal in 20 minutes`() {
    var schedule = minted(at: 100)
    var mints: [UInt64] = [100]
    for now: UInt64 in 101...149 where schedule.mayRenew(now: now * minute, clockOffset: 0) {
      renew(&schedule, at: now)
      mints.append(now)
    }
    // The first token is not a renewal.
    #expect(mints == [100, 101, 121, 141])
  }

  @Test func `a token renewed on schedule is not renewed again within 20 minutes`() {
    var schedule = minted(at: 100)
    mint(&schedule, at: 150)
    #expect(!schedule.mayRenew(now: 151 * minute, clockOffset: 0))
    #expect(!schedule.mayRenew(now: 169 * minute, clockOffset: 0))
    #expect(schedule.mayRenew(now: 170 * minute, clockOffset: 0))
  }

  @Test func `after the clock was set, or the machine suspended, a refused token is renewed at once`() {
    for offset in [minutes(120), -minutes(60)] {
      var schedule = minted(at: 0)
      mint(&schedule, at: 100)
      #expect(!schedule.mayRenew(now: 101 * minute, clockOffset: 1_000_000_000))
      #expect(schedule.mayRenew(now: 101 * minute, clockOffset: offset))
      // The clock may be right now, so the fleet's token is tried first.
      let window = schedule.due(now: 101 * minute, clockOffset: offset)
      #expect(schedule.renewal(now: 101 * minute, clockOffset: offset) == window)
      renew(&schedule, at: 101, offset: offset)
      #expect(!schedule.mayRenew(now: 102 * minute, clockOffset: offset))
    }
  }

  @Test func `a clock that was set within the window cannot help, so a refused token gets the own clock`() {
    let schedule = minted(at: 110)
    #expect(schedule.renewal(now: 111 * minute, clockOffset: minutes(2)) == .ownClock(110 * 60))
  }

  // MARK: - Clocks that are off

  /// Runs a day of a machine whose clock is off. APNs refuses what its own clock calls too old, or issued in the future.
  private func day(clockOffBy error: Int64) -> (mints: [TokenSchedule.Issue], refusedMinutes: Int) {
    var schedule = TokenSchedule()
    var (mints, refused): ([TokenSchedule.Issue], Int) = ([], 0)
    func mint(_ issue: TokenSchedule.Issue, _ now: UInt64) {
      schedule.minted(issue, now: now, clockOffset: error)
      mints.append(issue)
    }
    func isAccepted(_ now: UInt64) -> Bool {
      let age = Int64(now / 1_000_000_000) - (mints.last?.seconds ?? 0)
      return (0...3600).contains(age)
    }
    for number: UInt64 in 10_049..<11_489 {
      let now = number * minute
      if schedule.isDue(now: now, clockOffset: error) { mint(schedule.due(now: now, clockOffset: error), now) }
      if isAccepted(now) { continue }
      if schedule.mayRenew(now: now, clockOffset: error) { mint(schedule.renewal(now: now, clockOffset: error), now) }
      if !isAccepted(now) { refused += 1 }
    }
    return (mints, refused)
  }

  @Test(arguments: [0, -9])
  func `a clock that is right, or a little slow, needs only the fleet's tokens`(minutes: Int64) {
    let (mints, refused) = day(clockOffBy: self.minutes(minutes))
    #expect(refused == 0)
    #expect(mints.allSatisfy { $0.seconds % 3000 == 0 })
    #expect((29...30).contains(mints.count))
  }

  @Test(arguments: [-12, -25, -38]) func `a clock that is slower costs own tokens and no push`(minutes: Int64) {
    let (mints, refused) = day(clockOffBy: self.minutes(minutes))
    #expect(refused == 0)
    let own = mints.filter { if case .ownClock = $0 { true } else { false } }
    #expect((1...75).contains(own.count))
    #expect(zip(own, own.dropFirst()).allSatisfy { $1.seconds - $0.seconds >= 20 * 60 })
  }
}
