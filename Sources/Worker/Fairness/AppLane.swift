import EventLoop
import Queue

/// The pushes of one app: those that wait, and the counts of those in flight.
@EventLoop
final class AppLane {
  /// A job without a sent push.
  struct WaitingJob {
    let drafts: [PushDraft]
    let bytes: Int
  }

  /// The approximate number of bytes that a waiting push takes in addition to its job.
  private static let bytesPerPush = 256

  /// The app's name for logs: its first bundle id, or ``AppState/otherApps``.
  let name: String
  var app: FairShares.App
  var jobs = FrontQueue<WaitingJob>()
  /// Permits that jobs in ``jobs`` keep.
  private(set) var keptPermits = 0
  var turns = PushTurns()
  /// Whether the lane is among those that take turns.
  var hasTurn = false
  var schedule = PostponeSchedule()
  /// How quickly APNs has answered in the last interval.
  private(set) var times = AnswerTimes()
  private var epochs = AnswerEpochs()
  private var concurrency: ConcurrencyLimit
  private var pace = LanePace()

  init(name: String, share: Int, limit: Int) {
    self.name = name
    app = FairShares.App(share: share, limit: limit)
    concurrency = ConcurrencyLimit(maximum: limit)
  }

  var isIdle: Bool { !app.isActive }

  /// Since the last intervals, how many pushes have ended in a second.
  var endedPerSecond: Int { pace.endedPerSecond }

  /// Intervals in which the app had no push.
  var idleIntervals: Int { pace.idleIntervals }

  static func bytes(of drafts: [PushDraft]) -> Int {
    (drafts.first?.delivery.claim.element.count ?? 0) + drafts.count * bytesPerPush
  }

  /// Keeps the permit for a job that waits.
  func keep(_ permit: consuming Permit) { keptPermits += 1 }

  /// A permit that was kept; nil if there is none.
  func takeKept() -> Permit? {
    guard keptPermits > 0 else { return nil }
    keptPermits -= 1
    return .counted()
  }

  /// Takes all permits that were kept, and returns their number.
  func takeAllHeld() -> Int {
    defer { keptPermits = 0 }
    return keptPermits
  }

  func sent(_ draft: PushDraft) {
    draft.epoch = epochs.current
    epochs.sent()
  }

  func ended(_ draft: PushDraft, isAnswered: Bool) {
    epochs.ended(draft.epoch, isAnswered: isAnswered)
    pace.ended += 1
  }

  func countPostponed() {
    pace.isCrowded = true
  }

  /// Ends an interval of ``ConcurrencyControl``. `isShared`: other apps may need permits.
  func endInterval(isShared: Bool) {
    if keptPermits > 0 { pace.isCrowded = true }
    app.isSlow = pace.endInterval(isActive: app.isActive, waitingJobs: app.waitingJobs, wasSlow: app.isSlow)
    times = epochs.advance(inFlight: app.inFlight)
    guard isShared else { return }
    if concurrency.update(times) == .lowered { restartAnswers() }
    app.limit = concurrency.value
  }

  /// Counts only the answers to pushes that are sent from now on.
  func restartAnswers() { epochs.restart() }
}

/// Whether the jobs of an app wait too long, by how many of its pushes end in an interval. Pure.
struct LanePace: Equatable {
  /// Intervals in a second: the interval is ``ConcurrencyControl``'s.
  static let intervalsPerSecond = 2

  /// Pushes that have ended in this interval.
  var ended = 0
  /// Whether more jobs came in this interval than may wait.
  var isCrowded = false
  private var wasCrowded = false
  private var lastEnded = 0
  private(set) var endedPerSecond = 0
  private(set) var idleIntervals = 0

  /// Ends an interval and returns whether the app is slow. Only an app that was crowded in two intervals becomes slow: in the
  /// first one its pushes may just have begun.
  mutating func endInterval(isActive: Bool, waitingJobs: Int, wasSlow: Bool) -> Bool {
    defer {
      wasCrowded = isCrowded
      isCrowded = false
      lastEnded = ended
      ended = 0
    }
    endedPerSecond = ended * LanePace.intervalsPerSecond
    idleIntervals = isActive || ended > 0 ? 0 : idleIntervals + 1
    guard isCrowded || wasSlow else { return false }
    guard wasCrowded || wasSlow else { return false }
    // The pushes of a stalled app end at the same time, when they have timed out: one interval is no recovery.
    let pace = wasSlow ? min(endedPerSecond, lastEnded * LanePace.intervalsPerSecond) : endedPerSecond
    return pace * FairShares.patience < waitingJobs * 1000
  }
}
