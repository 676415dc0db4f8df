/// A bounded number of things that may be under way at once. Taken before work is fetched, given back when it is done.
@EventLoop
public final class Permits {
  public let limit: Int
  public private(set) var available: Int

  private var observers: [@EventLoop () -> Void] = []

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

  /// `observer` is called whenever permits were given back, by whomever; those that were there before are called first.
  public func onRelease(_ observer: @escaping @EventLoop () -> Void) {
    observers.append(observer)
  }

  public func release(_ count: Int = 1) {
    precondition(available + count <= limit, "more permits given back than taken")
    available += count
    for observer in observers { observer() }
  }
}
