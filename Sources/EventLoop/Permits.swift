/// Limits how much work is in progress at once. Permits are taken before work is fetched and released when it is done.
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

  /// Takes up to `count` permits and returns how many were available.
  public func take(upTo count: Int) -> Int {
    let granted = min(count, available)
    available -= granted
    return granted
  }

  /// Calls `observer` whenever permits are released. Observers are called in the order in which they were added.
  public func onRelease(_ observer: @escaping @EventLoop () -> Void) {
    observers.append(observer)
  }

  public func release(_ count: Int = 1) {
    precondition(available + count <= limit, "more permits released than taken")
    available += count
    for observer in observers { observer() }
  }
}
