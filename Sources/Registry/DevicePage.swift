/// A part of a user's devices, in the order of their tokens.
public struct DevicePage: Sendable, Equatable {
  public let devices: [Device]
  /// Whether there are devices behind the last.
  public let hasMore: Bool
  /// Entries that are not the user's, for ``Registry/clean(user:_:completion:)``.
  public let removals: [Removal]
}
