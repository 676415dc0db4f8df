import EventLoop
import Redis

/// A settlement that Redis has not confirmed yet. A class, because it moves from list to list.
@EventLoop
final class PendingSettlement {
  let claim: Claim
  /// What is still to be written.
  private(set) var settlement: Settlement
  /// It was written once, and the answer did not arrive: the job may have left the in-flight list.
  fileprivate(set) var mayBeWritten = false

  init(_ claim: Claim, _ settlement: consuming Settlement) {
    self.claim = claim
    self.settlement = settlement
  }

  /// The records were written (``SeparateRecords``): only the job itself is left to settle.
  func noteRecorded() {
    let old = settlement
    settlement = Settlement(old.verb)
    settlement.locator = old.locator
  }

  /// Whether the fleet has taken the job, given that the script did not find it in the in-flight list.
  var isLostWhenMissing: Bool { !mayBeWritten && !claim.isFenced }
}

/// The settlements of one queue, grouped by the script that writes them.
struct SettlementBatch {
  /// Plain acknowledgements: many of them are written by one script.
  var acknowledgements: [PendingSettlement] = []
  /// Those whose records must be written first, in a cluster.
  var unrecorded: [PendingSettlement] = []
  /// All others. Each is written by a separate script call.
  var others: [PendingSettlement] = []
}

/// The settlements that are to be written, per queue, for the first time or again.
///
/// A settlement leaves with ``takeBatch(queueIndex:)`` and comes back with ``keep(_:after:)`` if Redis did not confirm
/// it. Those of fenced claims are dropped: their jobs belong to other workers.
@EventLoop
struct SettlementBacklog {
  private var pending: [[PendingSettlement]]
  /// Whether records are in other hash slots than their queue.
  private let hasSeparateRecords: Bool

  init(queueCount: Int, hasSeparateRecords: Bool = false) {
    pending = Array(repeating: [], count: queueCount)
    self.hasSeparateRecords = hasSeparateRecords
  }

  var isEmpty: Bool { pending.allSatisfy(\.isEmpty) }

  mutating func append(_ entry: PendingSettlement) {
    pending[entry.claim.queueIndex].append(entry)
  }

  /// Removes all settlements of a queue, and returns those that are to be written.
  mutating func takeBatch(queueIndex: Int) -> SettlementBatch {
    let entries = pending[queueIndex]
    pending[queueIndex] = []
    var batch = SettlementBatch()
    batch.acknowledgements.reserveCapacity(entries.count)
    var timeToLive: Duration?
    // A loop: closures that are isolated check their executor at every call.
    for entry in entries where !entry.claim.isFenced {
      if mustBeRecorded(entry) {
        batch.unrecorded.append(entry)
      } else if entry.settlement.isPlain(&timeToLive) {
        batch.acknowledgements.append(entry)
      } else {
        batch.others.append(entry)
      }
    }
    return batch
  }

  /// Whether the records of a settlement are to be written before the job is settled.
  private func mustBeRecorded(_ entry: PendingSettlement) -> Bool {
    hasSeparateRecords && entry.settlement.hasRecords
  }

  /// Keeps settlements that Redis did not confirm, to be written again. `error` is nil if a script refused them.
  mutating func keep(_ entries: some Sequence<PendingSettlement>, after error: RedisError?) {
    var isUncertain = false
    if case .outcomeUnknown = error { isUncertain = true }
    for entry in entries where !entry.claim.isFenced {
      if isUncertain, !mustBeRecorded(entry) { entry.mayBeWritten = true }
      append(entry)
    }
  }
}
