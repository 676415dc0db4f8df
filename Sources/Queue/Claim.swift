public import EventLoop
import Jobs

/// A job that this worker has claimed. It is in the in-flight list until it is settled.
@EventLoop
public final class Claim {
  /// The place of the job's queue in the order of the worker's queues.
  public let queueIndex: Int
  /// The bytes in the in-flight list, which a settlement removes.
  public let element: [UInt8]
  public let envelope: Envelope
  /// Unix ms.
  public let claimedAt: Int64
  /// Nanoseconds of the monotonic clock.
  public let claimedMonotonic: UInt64
  /// Whether the job belongs to the fleet again: nothing may be sent or written for it.
  public internal(set) var isFenced = false
  /// Whether the job was cancelled: no further push of it is sent.
  public internal(set) var isCancelled = false
  /// Whether its settlement is written or pending. A claim has one settlement.
  var isSettled = false
  /// Whether the in-flight list has it behind all claims in order that the ledger knew before: the claiming script
  /// brought it, which runs once at a time. What waiting in Redis brings, or is found again, may be at any place.
  let isInOrder: Bool
  /// Whether it is among those that are acknowledged next.
  var isNext = false
  /// Whether a settlement was sent. Until then the job is in the in-flight list, unless Redis has lost it or a reaper has
  /// it.
  var isSent = false
  /// The number that the ledger gave it. 0 before.
  var serial: UInt64 = 0
  /// Its place in the ledger; nil if it is not there.
  var place: Int?

  init(
    queueIndex: Int, element: [UInt8], isInOrder: Bool = false, nonce: @autoclosure () -> String, now: Int64,
    monotonic: UInt64
  ) {
    self.queueIndex = queueIndex
    self.isInOrder = isInOrder
    self.element = element
    var envelope = Envelope(element: element)
    if envelope.nonce == nil { envelope.nonce = nonce() }
    self.envelope = envelope
    claimedAt = now
    claimedMonotonic = monotonic
  }

  /// The job's own id, or the one derived from its nonce. Searches the producer's bytes each time.
  var jobID: String { Job.salvagedID(from: envelope.job) ?? JobID.derived(nonce: envelope.nonce ?? "") }
}
