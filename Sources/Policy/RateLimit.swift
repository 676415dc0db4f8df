/// At most so many notifications within any so many seconds.
public struct RateLimit: Sendable, Equatable {
  public var count: Int
  public var seconds: Int64

  /// Whether whatever keeps `other` keeps this one, and may do more.
  func isLooser(than other: RateLimit) -> Bool {
    self != other && count >= other.count && seconds <= other.seconds
  }
}
