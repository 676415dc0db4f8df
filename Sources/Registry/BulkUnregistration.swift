/// What unregistering all of a user's devices took away, as redis counted it.
public struct BulkUnregistration: Sendable, Equatable {
  /// Well-formed tokens that left the user's set.
  public var entries = 0
  /// Metadata that named the user.
  public var metadata = 0
  /// Entries of the set that were no tokens.
  public var malformedEntries = 0
  /// Whether there were well-formed tokens, whose owners had to be looked at.
  public var hasLookedUp = false
  /// Whether the set is gone because of this.
  public var isSetGone = false

  public init(entries: Int = 0, metadata: Int = 0) {
    self.entries = entries
    self.metadata = metadata
  }
}
