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
  /// The number that the ledger gave it. 0 before.
  var serial: UInt64 = 0
  /// Its place in the ledger; nil if it is not there.
  var place: Int?

  init(queueIndex: Int, element: [UInt8], nonce: @autoclosure () -> String, now: Int64, monotonic: UInt64) {
    self.queueIndex = queueIndex
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
