package import APNs
package import EventLoop

/// Records attempts at jobs for a collector outside. Jobs do not wait for it.
@EventLoop
package protocol AttemptRecorder: AnyObject {
  /// Begins the record of an attempt; nil if it is not recorded.
  func begin(_ delivery: Delivery) -> (any AttemptRecord)?

  /// Sends what waits, for at most `limit`.
  func flush(within limit: Duration) async

  /// Ends ``flush(within:)`` now.
  func abandon()
}

/// The record of one attempt.
@EventLoop
package protocol AttemptRecord: AnyObject {
  /// The addressee was looked up.
  func resolved()

  /// APNs has answered a push, or will not.
  func answered(_ draft: PushDraft, _ sent: SendOutcome)

  /// The outcome is in the delivery's tally.
  func ended(_ delivery: Delivery)
}
