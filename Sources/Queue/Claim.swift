public import EventLoop

/// A job in this worker's hands: it stands in the in-flight list until it is settled.
@EventLoop
public final class Claim {
  /// Which of the worker's queues, by its place in the order.
  public let queueIndex: Int
  /// The bytes in the in-flight list; settling names them.
  public let element: [UInt8]
  public let envelope: Envelope
  /// When it was claimed, by both clocks.
  public let claimedAt: Int64
  public let claimedMonotonic: UInt64
  /// Set when the fleet took the job away; nothing may be sent or written for it any more.
  public internal(set) var isFenced = false
  /// Place among the claims of the ledger.
  var serial: UInt64 = 0

  init(queueIndex: Int, element: [UInt8], nonce: @autoclosure () -> String, now: Int64, monotonic: UInt64) {
    self.queueIndex = queueIndex
    self.element = element
    var envelope = Envelope(element: element)
    if envelope.nonce == nil { envelope.nonce = nonce() }
    self.envelope = envelope
    claimedAt = now
    claimedMonotonic = monotonic
  }
}
