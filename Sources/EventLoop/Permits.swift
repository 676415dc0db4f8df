/// A bounded number of things that may be under way at once. Taken before work is fetched, given back when it is done.
@EventLoop
public final class Permits {
  public let limit: Int
  public private(set) var available: Int

  /// Called after permits were given back.
  public var onRelease: (@EventLoop () -> Void)?

  public init(limit: Int) {
    precondition(limit > 0)
    self.limit = limit
    available = limit
  }

  public var taken: Int { limit - available }

  /// Takes up to `count`; returns how many it got.
  public func take(upTo count: Int) -> Int {
    let granted = min(count, available)
    available -= granted
    return granted
  }

  public func release(_ count: Int = 1) {
    precondition(available + count <= limit, "more permits given back than taken")
    available += count
    onRelease?()
  }
}
