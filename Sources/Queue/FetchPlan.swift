/// Decides what the fetcher does next: permits first, queues in strict order, blocking only when all were found empty.
package struct FetchPlan: Sendable, Equatable {
  enum Action: Sendable, Equatable {
    /// Run the claim script on this queue, with this many permits taken.
    case claim(queueIndex: Int, upTo: Int)
    /// All queues are empty: block on those that no connection is blocked on, one permit each.
    case block
    /// Wait a moment for more permits, then ask again.
    case gather
    case wait
  }

  private enum Phase: Equatable {
    /// Everything was found empty; blocked connections tell of new jobs.
    case idle
    /// There may be jobs; nothing is asked right now.
    case hungry
    case claiming(queueIndex: Int, left: Int)
    case stopped
  }

  private let queueCount: Int
  private let batch: Int
  private let gatherBelow: Int
  private var phase = Phase.stopped
  private(set) var isPaused = false

  init(queueCount: Int, batch: Int, permits: Int) {
    self.queueCount = queueCount
    self.batch = batch
    gatherBelow = max(1, min(batch / 2, permits / 4))
  }

  var isClaiming: Bool {
    if case .claiming = phase { true } else { false }
  }

  /// Whether a connection that is not blocked (any more) should block again.
  var isIdle: Bool { phase == .idle && !isPaused }

  mutating func start() {
    if phase == .stopped { phase = .hungry }
  }

  mutating func stop() { phase = .stopped }

  mutating func pause(_ paused: Bool) { isPaused = paused }

  /// A blocked connection brought a job, or the connection came back: there may be more.
  mutating func expectJobs() {
    if phase == .idle { phase = .hungry }
  }

  /// What to do with `permits` free ones. `hasGathered`: the wait for more is over.
  mutating func next(permits: Int, hasGathered: Bool = false) -> Action {
    guard phase == .hungry, !isPaused, permits > 0 else { return .wait }
    if permits < gatherBelow, !hasGathered { return .gather }
    let wanted = min(permits, batch)
    phase = .claiming(queueIndex: 0, left: wanted)
    return .claim(queueIndex: 0, upTo: wanted)
  }

  /// The claim on the current queue brought `count` jobs; permits for the rest are still taken. `hasMore`: it ended early,
  /// the queue is not empty.
  mutating func claimed(_ count: Int, hasMore: Bool = false) -> Action {
    guard case .claiming(let queueIndex, let asked) = phase else { return .wait }
    let left = asked - count
    if left <= 0 || hasMore {
      phase = .hungry
      return .wait
    }
    if queueIndex + 1 < queueCount {
      phase = .claiming(queueIndex: queueIndex + 1, left: left)
      return .claim(queueIndex: queueIndex + 1, upTo: left)
    }
    phase = .idle
    return .block
  }

  /// The claim failed; permits go back and the next attempt starts with the first queue.
  mutating func claimFailed() {
    if isClaiming { phase = .hungry }
  }

  /// With a backlog in `queueIndex`, a connection blocked on a later queue would let its jobs overtake.
  func mustUnblock(_ blockedIndex: Int, afterFullClaimOf queueIndex: Int) -> Bool { blockedIndex > queueIndex }
}
