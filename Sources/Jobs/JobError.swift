/// Why bytes are no job, in words that tell their producer what to change.
public struct JobError: Error, Sendable, Equatable {
  /// `title: expected a string, found a number`. Names the field; quotes no more than a key of the job, the
  /// name of its class, and words that a rule of tone knows.
  public let reason: String

  public init(reason: String) {
    self.reason = reason
  }
}
