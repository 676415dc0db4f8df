import EventLoop
import Jobs

/// Bounds the pushes in flight by permits, which are taken before a job is claimed, and divides the permits among the apps.
///
/// A job brings one permit, which its first push uses; the others wait for free permits. While all jobs are of one app, the
/// waiting pushes leave an eighth of all permits to new claims, so that a broadcast never shuts out other jobs, unless no
/// push is in flight at all. With several apps, ``FairShares`` decides: jobs of an app that has its share wait without a
/// permit, some in memory, the others in Redis, so that jobs of other apps are claimed.
@EventLoop
final class SendWindow {
  private static let reserveDivisor = 8

  /// How many of `permits` pushes that waited may have; the others are for new claims.
  static func maximumWaitingInFlight(of permits: Int) -> Int { permits - permits / reserveDivisor }

  let lanes: AppLanes
  private let permits: Permits
  private var shares: FairShares
  private var submit: @EventLoop (PushDraft) -> Void = { _ in }
  private var putOff: @EventLoop (Delivery, AppLane, Duration) -> Void = { _, _, _ in }
  /// Lanes with waiting pushes, each at most once, in the order of their turns.
  private var waiting = FrontQueue<AppLane>()
  private var isFilling = false

  /// `shares` and `hasOtherApps` are those of ``AppLanes``.
  init(permits: Permits, shares: [String: AppShare] = [:], hasOtherApps: Bool = false) {
    self.permits = permits
    self.shares = FairShares(limit: permits.limit)
    lanes = AppLanes(shares: shares, hasOtherApps: hasOtherApps, limit: permits.maximum)
    // Also for permits that a claim returns unused: pushes may wait for them with none in flight.
    permits.onRelease { [weak self] in self?.fill() }
  }

  /// Call it once, before anything enters. `send` is called for each push as its turn comes, `putOff` for each job that is to be
  /// put off.
  func connect(
    send: @escaping @EventLoop (PushDraft) -> Void,
    putOff: @escaping @EventLoop (Delivery, AppLane, Duration) -> Void
  ) {
    submit = send
    self.putOff = putOff
  }

  /// Adds the drafts of one job; the first uses the job's permit, if there is one. Call ``leave(_:isAnswered:)`` when a draft's
  /// push has ended.
  func enter(_ drafts: [PushDraft], permit: consuming Permit? = nil) {
    guard let first = drafts.first else { return }
    let lane = lanes.lane(of: first.content)
    guard let permit else {
      wait(drafts[...])
      return fill()
    }
    shares.limit = permits.limit
    switch lanes.isShared ? shares.decide(lane.app, bytes: AppLane.bytes(of: drafts)) : .send {
    case .send:
      send(first, lane, permit)
      guard drafts.count > 1 else { return }
      wait(drafts.dropFirst())
      fill()
    case .wait:
      wait(drafts, lane)
      permits.release(permit)
    case .hold:
      wait(drafts, lane)
      lane.hold(permit)
      fill()
    case .putOff:
      putOff(drafts, lane)
      permits.release(permit)
    }
  }

  /// The push of a draft has ended: releases its permit. `isAnswered`: APNs has answered it.
  func leave(_ draft: PushDraft, isAnswered: Bool) {
    let lane = lanes.lane(of: draft.content)
    shares.ended(&lane.app)
    lane.noteEnded(draft, isAnswered: isAnswered)
    if let permit = draft.permit.take() { permits.release(permit) }
  }

  /// Replaces the shares of the configured apps, by bundle id.
  func configure(shares new: [String: AppShare]) {
    lanes.configure(new)
    for lane in lanes.all { shares.setShare(lanes.share(ofApp: lane.name), &lane.app) }
    fill()
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
    for lane in lanes.all { lane.releaseHeld(to: permits) }
    return left
  }

  /// Ends an interval of ``ConcurrencyControl``. `note` is called for each app whose limit has changed, with the old one.
  func endInterval(_ note: (AppLane, _ old: Int) -> Void) {
    for lane in lanes.all {
      let old = lane.app.limit
      lane.endInterval(isShared: lanes.isShared)
      if lane.app.limit != old { note(lane, old) }
      if lane.app.isSlow { putOffHeld(lane) }
    }
    lanes.removeIdle()
    fill()
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

  // MARK: - Put off

  /// Puts the jobs off that wait beyond those that may: claims need their permits.
  private func putOffHeld(_ lane: AppLane) {
    guard lane.heldPermits > 0 else { return }
    var last: [AppLane.WaitingJob] = []
    while last.count < lane.heldPermits, let job = lane.jobs.popLast() {
      shares.stopped(waiting: job.bytes, &lane.app)
      last.append(job)
    }
    for job in last.reversed() { putOff(job.drafts, lane) }
    lane.releaseHeld(to: permits)
  }

  private func putOff(_ drafts: [PushDraft], _ lane: AppLane) {
    guard let delivery = drafts.first?.delivery else { return }
    lane.notePutOff()
    let delay = lane.schedule.next(
      now: Clock.monotonicNanoseconds, waitingJobs: lane.app.waitingJobs, endedPerSecond: lane.endedPerSecond,
      untilExpiration: delivery.state.expiresAt.map { .milliseconds($0 - Clock.unixMilliseconds) },
      random: .random(in: 0..<1))
    putOff(delivery, lane, delay)
  }

  // MARK: - Sending

  private func send(_ draft: PushDraft, _ lane: AppLane, _ permit: consuming Permit) {
    draft.permit = consume permit
    shares.sent(&lane.app)
    lane.noteSent(draft)
    submit(draft)
  }

  /// Sends waiting pushes as permits allow: the lanes take turns, one push each.
  private func fill() {
    shares.limit = permits.limit
    guard !waiting.isEmpty, !isFilling else { return }
    isFilling = true
    defer { isFilling = false }
    // Lanes in a row that could send nothing.
    var passedOver = 0
    while passedOver < waiting.count, let lane = waiting.popFirst() {
      passedOver = sendNext(of: lane) ? 0 : passedOver + 1
      lane.hasTurn = !lane.jobs.isEmpty || !lane.turns.isEmpty
      if lane.hasTurn { waiting.append(lane) }
    }
  }

  /// Returns whether the lane has sent a push. A job waits only while there are other apps.
  private func sendNext(of lane: AppLane) -> Bool {
    guard !lane.jobs.isEmpty else { return sendTurn(of: lane) }
    guard !lanes.isShared || shares.maySend(lane.app) else { return false }
    guard let permit = lane.takeHeld() ?? permits.take() else { return false }
    guard let job = popJob(of: lane), let first = job.drafts.first else { return false }
    send(first, lane, permit)
    if job.drafts.count > 1 { wait(job.drafts.dropFirst()) }
    return true
  }

  private func sendTurn(of lane: AppLane) -> Bool {
    let isAllowed = lanes.isShared ? shares.maySend(lane.app) : permits.available > reserved
    guard isAllowed, !lane.turns.isEmpty, let permit = permits.take() else { return false }
    guard let draft = lane.turns.popFirst() else { return false }
    shares.setStarted(lane.turns.jobCount, &lane.app)
    send(draft, lane, permit)
    return true
  }

  /// Permits that waiting pushes may not take.
  private var reserved: Int { shares.inFlight == 0 ? 0 : permits.limit / SendWindow.reserveDivisor }
}
