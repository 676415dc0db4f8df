import APNs
import EventLoop
import Jobs
import Queue
import Registry

/// Notes for each refused device what APNs answered last, so that an operator can be told why a device gets nothing.
///
/// The notes of a worker are limited: an outage or a list of invalid tokens must not fill Redis.
@EventLoop
final class RefusalNotes {
  private let registry: Registry
  private let memory: MemoryWatch
  private var allowance = NoteAllowance(now: Clock.monotonicNanoseconds)

  init(registry: Registry, memory: MemoryWatch) {
    self.registry = registry
    self.memory = memory
  }

  /// Notes the answer if there was one. Not for accepted pushes.
  func keep(_ sent: SendOutcome, _ outcome: PushOutcome, _ draft: PushDraft) {
    guard case .answered(let answer) = sent, memory.stage != .full else { return }
    if let pusher = draft.delivery.job.pusher {
      keepGone(pusher, outcome, draft)
      // Whoever invents tokens does not use up the notes about devices that are registered.
      if draft.device.kind == nil { return }
    }
    guard allowance.take(now: Clock.monotonicNanoseconds) else { return }
    let note = RefusalNote(
      reason: answer.reason ?? "", status: answer.status, at: Clock.unixMilliseconds, jobID: draft.delivery.id,
      turn: draft.delivery.turn, topic: draft.content.appTopic, environment: draft.content.environment)
    let device = draft.device
    registry.keep(note, of: device.token)
    if case .stale = outcome, let owner = device.username { registry.keep(note, of: device.token, removedFrom: owner) }
  }

  /// Keeps for the push gateway that the device is gone.
  private func keepGone(_ pusher: Pusher, _ outcome: PushOutcome, _ draft: PushDraft) {
    guard case .stale(let since) = outcome else { return }
    let now = Clock.unixMilliseconds
    let goneSince = min(since ?? now, now)
    guard goneSince > pusher.setAt else { return }
    registry.keep(draft.device.token, of: draft.content.bundleID, goneSince: goneSince, for: pusher.address)
  }
}

/// How many notes may be written: a thousand at once, and ten a second in the long run.
struct NoteAllowance {
  static let maximum = 1000
  private static let perSecond: UInt64 = 10
  private static let interval = 1_000_000_000 / perSecond

  private var left = maximum
  /// Nanoseconds of the monotonic clock, when ``left`` was last raised.
  private var raisedAt: UInt64

  init(now: UInt64) {
    raisedAt = now
  }

  /// Returns whether one more may be written. `now` never decreases.
  mutating func take(now: UInt64) -> Bool {
    let earned = (now - raisedAt) / NoteAllowance.interval
    raisedAt += earned * NoteAllowance.interval
    left = min(NoteAllowance.maximum, left + Int(clamping: earned))
    guard left > 0 else { return false }
    left -= 1
    return true
  }
}
