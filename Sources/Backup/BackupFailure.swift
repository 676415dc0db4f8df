/// An import that ended early. What was done stays done; the same file may be imported again.
public struct BackupFailure: Error, Sendable, Equatable {
  public let cause: BackupError
  /// Until then.
  public let done: BackupSummary
}

extension BackupFailure: CustomStringConvertible {
  public var description: String { "\(cause); \(done.total) entries were done before" }
}
