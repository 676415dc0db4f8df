public import JSON

/// A part of a user's notification records, oldest first.
public struct NotificationPage: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    public let id: StreamID
    /// An object.
    public let record: JSONValue
  }

  public let entries: [Entry]
  /// The last entry looked at, whether or not it is among ``entries``; nil when there was none.
  public let last: StreamID?
  /// Whether there is more behind ``last``.
  public let hasMore: Bool
}
