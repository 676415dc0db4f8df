import Jobs
import JSON

/// A job that was given up, kept until an operator requeues or purges it.
///
/// An entry of the sorted set is one line of JSON, `{"id","reason","at","attempts"}`, then the element: the producer's
/// bytes, unchanged, behind their envelope.
public struct DeadLetter: Sendable, Equatable {
  static let crashedWorkers = "crashed \(QueueLimits.maximumCrashes + 1) workers in a row"
  /// A longer reason is cut: it may quote hostile input.
  static let maximumReasonBytes = 1000

  public let id: String
  public let reason: String
  /// Unix ms.
  public let at: Int64
  public let attempts: Int
  public let envelope: Envelope

  public init(id: String, reason: String, at: Int64, attempts: Int, envelope: Envelope) {
    self.id = id
    self.reason = reason
    self.at = at
    self.attempts = attempts
    self.envelope = envelope
  }

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

  public var bytes: [UInt8] {
    DeadLetter.head(id: id, reason: reason, at: at, attempts: attempts) + envelope.element
  }

  /// The element that runs the job again as if it had not been attempted, for the pushes that are still open or
  /// uncertain.
  public var requeued: [UInt8] {
    var fresh = envelope
    fresh.crashes = 0
    fresh.attempts = 0
    var state = AttemptState(json: fresh.state)
    if !state.uncertain.isEmpty {
      state.reopenUncertain()
      fresh.state = state.json()
    }
    return fresh.element
  }

  /// Makes the first line, with its line end. Without an `id`, readers take the job's own.
  static func head(id: String?, reason: String, at: Int64, attempts: Int) -> [UInt8] {
    let object: JSONObject = [
      "id": id, "reason": reason.prefix(bytes: maximumReasonBytes), "at": at, "attempts": attempts,
    ]
    return Array(object.line.utf8)
  }
}
