/// Why bytes are no job, in words that tell their producer what to change.
public struct JobError: Error, Sendable, Equatable {
  /// `title: expected a string, found a number`. Names the field; never quotes more than a key of the job.
  public let reason: String

  public init(reason: String) {
    self.reason = reason
  }
}
