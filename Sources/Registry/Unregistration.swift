/// What unregistering a device took away.
public struct Unregistration: Sendable, Equatable {
  /// Whether the token was in the user's set.
  public let removedEntry: Bool
  /// Whether the metadata named the user.
  public let removedMetadata: Bool
}
