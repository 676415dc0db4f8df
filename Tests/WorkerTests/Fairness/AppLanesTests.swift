import APNs
import EventLoop
import TestSupport
import Testing

@testable import Worker

@EventLoop
struct AppLanesTests {
  @Test func `the bundle ids of a configured app have one lane, all others another one together`() {
    let app = AppShare(app: "com.a", share: 3)
    let lanes = AppLanes(shares: ["com.a": app, "com.a.watch": app], hasOtherApps: false, limit: 64)
    #expect(!lanes.isShared)
    let lane = lanes.lane(ofBundleID: "com.a")
    #expect(lane === lanes.lane(ofBundleID: "com.a.watch"))
    #expect(lane.app.share == 3)
    let other = lanes.lane(ofBundleID: "com.b")
    #expect(other === lanes.lane(ofBundleID: "com.c"))
    #expect(other.name == "other")
    #expect(lanes.isShared)
    #expect([lane, other].map(lanes.label) == ["com.a", "other"])
  }

  @Test func `with several configured apps permits are shared before the first job`() {
    let lanes = AppLanes(shares: ["a": AppShare(app: "a"), "b": AppShare(app: "b")], hasOtherApps: false, limit: 64)
    #expect(lanes.isShared)
    #expect(lanes.configuredApps == ["a", "b"])
  }

  @Test func `one configured app and others are several`() {
    let shares: [String: AppShare] = .init(apps: [(bundleIDs: ["a", "a.watch"], share: 2)])
    #expect(shares == ["a": AppShare(app: "a", share: 2), "a.watch": AppShare(app: "a", share: 2)])
    #expect(AppLanes(shares: shares, hasOtherApps: true, limit: 64).isShared)
    #expect(!AppLanes(shares: shares, hasOtherApps: false, limit: 64).isShared)
    #expect(!AppLanes(shares: [:], hasOtherApps: true, limit: 64).isShared)
  }

  @Test func `without configured apps each bundle id is an app, up to a limit`() {
    let lanes = AppLanes(shares: [:], hasOtherApps: false, limit: 64)
    let first = lanes.lane(ofBundleID: "0")
    #expect(!lanes.isShared)
    #expect(lanes.label(of: first) == "other")
    let busy = (0..<64).map { lanes.lane(ofBundleID: "\($0)") }
    var shares = FairShares(limit: 64)
    for lane in busy { shares.sent(&lane.app) }
    #expect(Set(busy.map(\.name)).count == 64)
    let beyond = (64..<5000).map { lanes.lane(ofBundleID: "\($0)") }
    #expect(beyond.allSatisfy { $0.name == "other" })
    #expect(lanes.all.count == 65)
  }

  @Test func `apps without pushes make room for others`() {
    let lanes = AppLanes(shares: [:], hasOtherApps: false, limit: 64)
    for number in 0..<64 { _ = lanes.lane(ofBundleID: "\(number)") }
    for lane in lanes.all { lane.endInterval(isShared: true) }
    #expect(lanes.lane(ofBundleID: "new").name == "new")
    #expect(lanes.all.count == 1)
    #expect(!lanes.isShared)
  }

  @Test func `apps can be configured anew while pushes are in flight`() throws {
    let permits = Permits(limit: 64)
    let window = SendWindow(permits: permits, shares: ["a": AppShare(app: "a")])
    let delivery = try Delivery.testing(#"{"id":"x","to":{"user":"u"},"title":"T"}"#)
    delivery.permit = nil
    _ = window.enter(delivery.drafts(10, named: "a", app: "a"))
    let sent = (0..<10).compactMap { _ in window.next() }
    window.configure(shares: ["a": AppShare(app: "a", share: 4), "b": AppShare(app: "b", share: 2)])
    #expect(window.lanes.lane(ofBundleID: "a").app.inFlight == 10)
    #expect(window.lanes.lane(ofBundleID: "a").app.share == 4)
    for draft in sent { window.leave(draft, isAnswered: true) }
    #expect(permits.taken == 0)
    #expect(window.lanes.all.count { !$0.isIdle } == 0)
  }
}

struct PostponeScheduleTests {
  @Test func `jobs are due one behind the other, at the rate of the app or a smallest one`() {
    var schedule = PostponeSchedule()
    let stalled = (0..<1000).map { _ in
      schedule.next(now: 1_000_000_000, waitingJobs: 128, endedPerSecond: 0, random: 0.5)
    }
    #expect(stalled.first == .milliseconds(2002))
    #expect(stalled.last == .milliseconds(4000))
    var quick = PostponeSchedule()
    let delays = (0..<1000).map { _ in quick.next(now: 0, waitingJobs: 100, endedPerSecond: 1000, random: 0.5) }
    #expect(delays.first == .milliseconds(251))
    #expect(delays.last == .milliseconds(1250))
  }

  @Test func `no backlog is postponed for longer than the limit, and a job not beyond half of its time`() {
    var schedule = PostponeSchedule()
    for _ in 0..<1_000_000 { _ = schedule.next(now: 0, waitingJobs: 128, endedPerSecond: 0, random: 0) }
    #expect(schedule.next(now: 0, waitingJobs: 128, endedPerSecond: 0, random: 0.5) == .seconds(600))
    #expect(schedule.next(now: 0, waitingJobs: 128, endedPerSecond: 0, random: 1) == .seconds(750))
    let expiring = schedule.next(now: 0, waitingJobs: 1, endedPerSecond: 0, untilExpiration: .seconds(10), random: 0.5)
    #expect(expiring == .seconds(5))
    let expired = schedule.next(now: 0, waitingJobs: 1, endedPerSecond: 0, untilExpiration: .seconds(-10), random: 0.5)
    #expect(expired == .zero)
  }

  /// Jobs that are due come back to the front of the queue, before those of other apps.
  @Test(arguments: [20, 100, 400, 2000])
  func `a worker that postpones few jobs in a second reaches the jobs behind them`(perSecond: UInt64) {
    var schedule = PostponeSchedule()
    var (inQueue, turns, now) = (5000, 0, 0 as UInt64)
    var due: [UInt64] = []
    var back = 0
    while inQueue > 0, turns < 15_000 {
      turns += 1
      now += 1_000_000_000 / perSecond
      if back < due.count, due[back] <= now { back += 1 } else { inQueue -= 1 }
      let delay = schedule.next(now: now, waitingJobs: 128, endedPerSecond: 0, random: 0.5)
      due.append(now + delay.unsignedNanoseconds)
    }
    #expect(inQueue == 0)
  }
}

struct AnswerEpochsTests {
  @Test func `an answer is slow after three epochs`() {
    var epochs = AnswerEpochs()
    for _ in 0..<3 { epochs.sent() }
    epochs.ended(0, isAnswered: true)
    #expect(epochs.advance(inFlight: 2) == AnswerTimes(count: 1, unanswered: .recent))
    #expect(epochs.advance(inFlight: 2) == AnswerTimes(unanswered: .recent))
    epochs.ended(0, isAnswered: true)
    #expect(epochs.advance(inFlight: 1) == AnswerTimes(count: 1, unanswered: .overdue))
    epochs.ended(0, isAnswered: true)
    #expect(epochs.advance(inFlight: 0) == AnswerTimes(count: 1, slowCount: 1))
  }

  @Test func `pushes that end without an answer are not counted`() {
    var epochs = AnswerEpochs()
    for _ in 0..<2 { epochs.sent() }
    epochs.ended(0, isAnswered: false)
    for _ in 0..<3 { _ = epochs.advance(inFlight: 1) }
    epochs.ended(0, isAnswered: false)
    #expect(epochs.advance(inFlight: 0) == AnswerTimes())
  }

  @Test func `after a restart only later pushes count`() {
    var epochs = AnswerEpochs()
    for _ in 0..<3 { epochs.sent() }
    for _ in 0..<3 { _ = epochs.advance(inFlight: 3) }
    epochs.restart()
    epochs.ended(0, isAnswered: true)
    #expect(epochs.advance(inFlight: 2) == AnswerTimes(unanswered: .recent))
    epochs.sent()
    let sent = epochs.current
    epochs.ended(0, isAnswered: true)
    for _ in 0..<3 { _ = epochs.advance(inFlight: 2) }
    #expect(epochs.advance(inFlight: 2).unanswered == .overdue)
    epochs.ended(sent, isAnswered: true)
    epochs.ended(0, isAnswered: true)
    #expect(epochs.advance(inFlight: 0) == AnswerTimes(count: 1, slowCount: 1))
  }

  @Test(arguments: 1...20) func `every answer after the last restart is counted once`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var epochs = AnswerEpochs()
    var open: [Int] = []
    var (ended, counted) = (0, 0)
    for _ in 0..<2000 {
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        open.append(epochs.current)
        epochs.sent()
      case 2, 3:
        guard let index = open.indices.randomElement(using: &random) else { continue }
        epochs.ended(open.remove(at: index), isAnswered: true)
        ended += 1
      default:
        let times = epochs.advance(inFlight: open.count)
        counted += times.count
        let hasOverdue = open.contains { epochs.current - $0 >= AnswerEpochs.slowAge }
        #expect((times.unanswered == .overdue) == hasOverdue)
      }
    }
    counted += epochs.advance(inFlight: open.count).count
    #expect(counted == ended)
  }
}
