public import Redis

/// What became of one page of dead letters.
public struct BulkStep: Sendable, Equatable {
  /// Letters that were read.
  public var examined = 0
  /// Letters that were requeued or purged.
  public var done = 0
  /// Letters that matched, and that somebody else had taken before.
  public var gone = 0
  /// Where the next page begins; nil after the last letter, and where this one began after a fault.
  public var next: SortedPosition?
  /// What Redis refused, or why it is not known what it did. The letters of the page that are left are read again.
  public var fault: RedisError?
}
