import EventLoop
import Redis

/// The phase of a worker's lease. Pure: ``Lease`` exchanges the messages.
///
/// Times are nanoseconds of the monotonic clock.
enum LeasePhase: Equatable {
  private static let freshness = QueueLimits.leaseFreshness.unsignedNanoseconds

  /// Redis does not know the worker's name yet. Nothing may be claimed or sent.
  case joining
  /// Redis has confirmed a heartbeat on the present connection. `since` is when the latest of them was sent.
  case confirmed(since: UInt64)
  /// The connection was lost after the last confirmed heartbeat. Only the next heartbeat shows whether Redis still has
  /// the worker's jobs.
  case unconfirmed(since: UInt64)
  /// The worker has left the fleet.
  case left

  /// Whether Redis knows the worker's name.
  var isHeld: Bool {
    switch self {
    case .confirmed, .unconfirmed: true
    case .joining, .left: false
    }
  }

  /// Whether Redis has confirmed a heartbeat on the present connection.
  var isConfirmed: Bool {
    if case .confirmed = self { true } else { false }
  }

  /// Whether the last confirmed heartbeat is young enough to send pushes under it.
  func isFresh(at now: UInt64) -> Bool {
    switch self {
    case .confirmed(let since), .unconfirmed(let since):
      now - since < LeasePhase.freshness
    case .joining, .left: false
    }
  }

  /// Redis has confirmed a heartbeat, for every queue. Answers may overtake each other: the time never goes back.
  mutating func confirm(sentAt: UInt64) {
    switch self {
    case .joining: self = .confirmed(since: sentAt)
    case .confirmed(let since), .unconfirmed(let since): self = .confirmed(since: max(since, sentAt))
    case .left: break
    }
  }

  mutating func loseConnection() {
    if case .confirmed(let since) = self { self = .unconfirmed(since: since) }
  }

  /// The fleet has taken the jobs; the worker joins again under a new name.
  mutating func fence() {
    if self != .left { self = .joining }
  }

  mutating func leave() { self = .left }
}

/// The answer to a heartbeat, for one queue.
struct HeartbeatAnswer: Equatable {
  /// What Redis knows of the worker.
  enum State: Int64 {
    /// The worker was taken for dead and its jobs were moved back to the queue.
    case fenced = 0
    case renewed = 1
    /// Redis has lost its data, the in-flight list included.
    case forgotten = 2
  }

  let state: State
  /// Entries in the in-flight list and the landing list together.
  let inflightLength: Int
  let seal: String?

  /// Returns nil if `value` is not an answer of ``QueueScripts/heartbeat``.
  init?(_ value: RedisValue) {
    guard let parts = value.array, parts.count == 3, let state = parts[0].integer.flatMap(State.init),
      let length = parts[1].count
    else { return nil }
    self.state = state
    inflightLength = length
    seal = parts[2].string
  }
}
