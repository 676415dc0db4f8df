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

  public var bytes: [UInt8] {
    DeadLetter.head(id: id, reason: reason, at: at, attempts: attempts) + envelope.element
  }

  /// Makes the first line, with its line end. Without an `id`, readers take the job's own.
  static func head(id: String?, reason: String, at: Int64, attempts: Int) -> [UInt8] {
    let object: JSONObject = [
      "id": id, "reason": reason.prefix(bytes: maximumReasonBytes), "at": at, "attempts": attempts,
    ]
    return Array(object.line.utf8)
  }
}
