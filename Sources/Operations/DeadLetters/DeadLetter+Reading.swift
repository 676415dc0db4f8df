import JSON
import Jobs
public import Queue

/// What operators do with a dead letter.
extension DeadLetter {
  /// Returns nil if `bytes` is not a dead letter.
  public init?(bytes: [UInt8]) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONValue(parsing: Array(bytes[..<end])), let reason = head["reason"]?.string
    else { return nil }
    let envelope = Envelope(element: Array(bytes[(end + 1)...]))
    self.init(
      id: head["id"]?.string ?? Job.salvagedID(from: envelope.job) ?? JobID.derived(nonce: envelope.nonce ?? ""),
      reason: reason, at: head["at"]?.time ?? 0,
      attempts: head["attempts"]?.count ?? 0, envelope: envelope)
  }

  /// The element that runs the job again as if it had not been attempted, for the pushes that are still open or
  /// uncertain.
  var requeued: [UInt8] {
    var fresh = envelope
    fresh.crashes = 0
    fresh.attempts = 0
    var state = AttemptState(json: fresh.state)
    state.reopenUncertain()
    state.requeues += 1
    fresh.state = state.json()
    return fresh.element
  }
}
