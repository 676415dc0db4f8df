/// Decides what the ``Fetcher`` does next: takes permits first, claims in strict order of the queues, and waits when all are
/// empty. Pure.
package struct FetchPlan: Sendable, Equatable {
  enum Action: Sendable, Equatable {
    /// Run the claiming script on this queue. Permits are taken for the first queue; the next ones use what is left.
    case claim(queueIndex: Int, upTo: Int)
    /// All queues are empty: wait in Redis on each connection that does not wait yet, with one permit each.
    case block
    /// Wait a moment for more permits, then begin a turn with what is there.
    case gather
    case wait
  }

  private enum Phase: Equatable {
    /// All queues were found empty. Blocking claims bring new jobs.
    case idle
    /// There may be jobs, and no claim is running.
    case hungry
    /// A claim is running. `left` permits are taken.
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

  /// Whether connections that do not wait in Redis should begin to.
  var isIdle: Bool { phase == .idle && !isPaused }

  mutating func start() {
    if phase == .stopped { phase = .hungry }
  }

  mutating func stop() { phase = .stopped }

  mutating func pause(_ paused: Bool) { isPaused = paused }

  /// There may be jobs: a blocking claim brought one, or the connection has come back.
  mutating func expectJobs() {
    if phase == .idle { phase = .hungry }
  }

  /// Begins a claim if there are `permits`. `hasGathered`: they are used even if they are few.
  mutating func beginTurn(permits: Int, hasGathered: Bool = false) -> Action {
    guard phase == .hungry, !isPaused, permits > 0 else { return .wait }
    if permits < gatherBelow, !hasGathered { return .gather }
    let wanted = min(permits, batch)
    phase = .claiming(queueIndex: 0, left: wanted)
    return .claim(queueIndex: 0, upTo: wanted)
  }

  /// Ends the running claim, which brought `count` jobs. `hasMore`: it ended early, and the queue is not empty.
  ///
  /// Unused permits are returned, unless the action is another claim, which keeps them.
  mutating func finishClaim(count: Int, hasMore: Bool = false) -> Action {
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

  /// Ends the running claim, which failed. The next turn begins with the first queue.
  mutating func failClaim() {
    if case .claiming = phase { phase = .hungry }
  }

  /// Whether the wait on `blockedIndex` must end because `queueIndex` has a backlog, which the jobs of a later queue
  /// must not overtake.
  func mustUnblock(_ blockedIndex: Int, afterFullClaimOf queueIndex: Int) -> Bool { blockedIndex > queueIndex }
}
