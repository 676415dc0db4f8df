import EventLoop
import Jobs

/// Bounds the pushes in flight by permits, which are taken before a job is claimed, and divides the permits among the apps.
///
/// A job brings one permit, which its first push uses; the others wait for free permits. While all jobs are of one app, the
/// waiting pushes leave an eighth of all permits to new claims, so that a broadcast never shuts out other jobs, unless no
/// push is in flight at all. With several apps, ``FairShares`` decides: jobs of an app that has its share wait without a
/// permit, some in memory, the others in Redis, so that jobs of other apps are claimed.
///
/// The window sends nothing itself: it returns what is to be done.
@EventLoop
final class SendWindow {
  /// What becomes of a job that enters.
  enum Entry {
    /// The draft has a permit. ``next()`` returns the others.
    case send(PushDraft)
    /// ``next()`` returns its drafts when it is their turn.
    case wait
    case postpone(Postponed)
  }

  /// A job that is to go back to Redis for `delay`.
  struct Postponed {
    let delivery: Delivery
    let lane: AppLane
    let delay: Duration
  }

  private static let reserveDivisor = 8

  /// How many of `permits` pushes that waited may have; the others are for new claims.
  static func maximumWaitingInFlight(of permits: Int) -> Int { permits - permits / reserveDivisor }

  let lanes: AppLanes
  private let permits: Permits
  private var shares: FairShares
  /// Lanes with waiting pushes, each at most once, in the order of their turns.
  private var waiting = FrontQueue<AppLane>()

  /// `shares` and `hasOtherApps` are those of ``AppLanes``.
  init(permits: Permits, shares: [String: AppShare] = [:], hasOtherApps: Bool = false) {
    self.permits = permits
    self.shares = FairShares(limit: permits.limit)
    lanes = AppLanes(shares: shares, hasOtherApps: hasOtherApps, limit: permits.maximum)
  }

  /// Adds the drafts of one job; the first takes the job's permit, if there is one. If the job still has it afterwards, it is to be
  /// given back. Call ``leave(_:isAnswered:)`` when a draft's push has ended.
  func enter(_ drafts: [PushDraft]) -> Entry {
    guard let first = drafts.first else { return .wait }
    let lane = lanes.lane(of: first.content)
    guard first.delivery.permit != nil else {
      wait(drafts[...])
      return .wait
    }
    shares.limit = permits.limit
    switch lanes.isShared ? shares.decide(lane.app, bytes: AppLane.bytes(of: drafts)) : .send {
    case .send:
      if let permit = first.delivery.permit.take() { start(first, lane, permit) }
      if drafts.count > 1 { wait(drafts.dropFirst()) }
      return .send(first)
    case .wait: wait(drafts, lane)
    case .waitWithPermit:
      wait(drafts, lane)
      if let permit = first.delivery.permit.take() { lane.keep(permit) }
    case .postpone: return .postpone(postpone(first.delivery, lane))
    }
    return .wait
  }

  /// Gives back the permit of a job or a push. Permits of claimed jobs are given back nowhere else.
  func giveBack(_ permit: consuming Permit?) {
    if let permit { permits.release(permit) }
  }

  /// Gives back the permits that jobs of the lane have kept.
  private func giveBackHeld(by lane: AppLane) {
    let count = lane.takeAllHeld()
    if count > 0 { permits.release(count) }
  }

  /// Returns a waiting push that may be sent now, with its permit; nil if there is none. The lanes take turns, one push each.
  /// Call it until it returns nil after each other call, and when permits were released: also those that a claim returns unused.
  func next() -> PushDraft? {
    guard !waiting.isEmpty else { return nil }
    shares.limit = permits.limit
    for _ in 0..<waiting.count {
      guard let lane = waiting.popFirst() else { break }
      let draft = startNext(of: lane)
      lane.hasTurn = !lane.jobs.isEmpty || !lane.turns.isEmpty
      if lane.hasTurn { waiting.append(lane) }
      if let draft { return draft }
    }
    return nil
  }

  /// The push of a draft has ended: releases its permit. `isAnswered`: APNs has answered it.
  func leave(_ draft: PushDraft, isAnswered: Bool) {
    let lane = lanes.lane(of: draft.content)
    shares.ended(&lane.app)
    lane.ended(draft, isAnswered: isAnswered)
    giveBack(draft.permit.take())
  }

  /// Replaces the shares of the configured apps, by bundle id.
  func configure(shares new: [String: AppShare]) {
    lanes.configure(new)
    for lane in lanes.all { shares.setShare(lanes.share(ofApp: lane.name), &lane.app) }
  }

  /// Removes and returns the drafts that have not been sent.
  func drainWaiting() -> [PushDraft] {
    var left: [PushDraft] = []
    for lane in lanes.all {
      while let job = popJob(of: lane) { left += job.drafts }
      left += lane.turns.removeAll()
      shares.setStarted(0, &lane.app)
      lane.hasTurn = false
    }
    waiting = FrontQueue()
    for lane in lanes.all { giveBackHeld(by: lane) }
    return left
  }

  /// Ends an interval of ``ConcurrencyControl`` and returns the jobs that wait beyond those that may: claims need their permits.
  /// `onChange` is called for each app whose limit has changed, with the old one.
  func endInterval(_ onChange: (AppLane, _ old: Int) -> Void) -> [Postponed] {
    var late: [Postponed] = []
    for lane in lanes.all {
      let old = lane.app.limit
      lane.endInterval(isShared: lanes.isShared)
      if lane.app.limit != old { onChange(lane, old) }
      if lane.app.isSlow { late += postponeHeld(lane) }
    }
    lanes.removeIdle()
    return late
  }

  // MARK: - Waiting

  /// Adds pushes that need a permit each. They may be of several apps.
  private func wait(_ drafts: ArraySlice<PushDraft>) {
    var start = drafts.startIndex
    while start != drafts.endIndex {
      let lane = lanes.lane(of: drafts[start].content)
      var end = start + 1
      while end != drafts.endIndex, lanes.lane(of: drafts[end].content) === lane { end += 1 }
      lane.turns.append(drafts[start..<end])
      shares.setStarted(lane.turns.jobCount, &lane.app)
      takeTurn(lane)
      start = end
    }
  }

  /// Adds a job without a sent push.
  private func wait(_ drafts: [PushDraft], _ lane: AppLane) {
    let job = AppLane.WaitingJob(drafts: drafts, bytes: AppLane.bytes(of: drafts))
    lane.jobs.append(job)
    shares.began(waiting: job.bytes, &lane.app)
    takeTurn(lane)
  }

  private func takeTurn(_ lane: AppLane) {
    guard !lane.hasTurn else { return }
    lane.hasTurn = true
    waiting.append(lane)
  }

  private func popJob(of lane: AppLane) -> AppLane.WaitingJob? {
    guard let job = lane.jobs.popFirst() else { return nil }
    shares.stopped(waiting: job.bytes, &lane.app)
    return job
  }

  // MARK: - Postponed

  private func postponeHeld(_ lane: AppLane) -> [Postponed] {
    guard lane.keptPermits > 0 else { return [] }
    var last: [AppLane.WaitingJob] = []
    while last.count < lane.keptPermits, let job = lane.jobs.popLast() {
      shares.stopped(waiting: job.bytes, &lane.app)
      last.append(job)
    }
    giveBackHeld(by: lane)
    return last.reversed().compactMap { job in job.drafts.first.map { postpone($0.delivery, lane) } }
  }

  private func postpone(_ delivery: Delivery, _ lane: AppLane) -> Postponed {
    lane.countPostponed()
    let delay = lane.schedule.next(
      now: Clock.monotonicNanoseconds, waitingJobs: lane.app.waitingJobs, endedPerSecond: lane.endedPerSecond,
      untilExpiration: delivery.state.expiresAt.map { .milliseconds($0 - Clock.unixMilliseconds) },
      random: .random(in: 0..<1))
    return Postponed(delivery: delivery, lane: lane, delay: delay)
  }

  // MARK: - Sending

  private func start(_ draft: PushDraft, _ lane: AppLane, _ permit: consuming Permit) {
    draft.permit = consume permit
    shares.sent(&lane.app)
    lane.sent(draft)
  }

  /// Returns a push of the lane that may be sent now. A job waits only while there are other apps.
  private func startNext(of lane: AppLane) -> PushDraft? {
    guard !lane.jobs.isEmpty else { return startTurn(of: lane) }
    guard !lanes.isShared || shares.maySend(lane.app) else { return nil }
    guard let permit = lane.takeKept() ?? permits.take() else { return nil }
    guard let job = popJob(of: lane), let first = job.drafts.first else { return nil }
    start(first, lane, permit)
    if job.drafts.count > 1 { wait(job.drafts.dropFirst()) }
    return first
  }

  private func startTurn(of lane: AppLane) -> PushDraft? {
    let isAllowed = lanes.isShared ? shares.maySend(lane.app) : permits.available > reserved
    guard isAllowed, !lane.turns.isEmpty, let permit = permits.take() else { return nil }
    guard let draft = lane.turns.popFirst() else { return nil }
    shares.setStarted(lane.turns.jobCount, &lane.app)
    start(draft, lane, permit)
    return draft
  }

  /// Permits that waiting pushes may not take.
  private var reserved: Int { shares.inFlight == 0 ? 0 : permits.limit / SendWindow.reserveDivisor }
}
