/// The right to one piece of work in progress. It cannot be copied, so it is given back once.
public struct Permit: ~Copyable {
  fileprivate init() {}

  /// One of those that ``Permits/take(upTo:)`` has counted. Call it once for each.
  public static func counted() -> Permit { Permit() }
}

/// Limits how much work is in progress at once. Permits are taken before work is fetched and released when it is done.
@EventLoop
public final class Permits {
  /// The greatest limit.
  public let maximum: Int
  /// How many permits may be taken at present; 1...``maximum``.
  public private(set) var limit: Int
  /// More than ``limit`` for a while after the limit was lowered.
  public private(set) var taken = 0

  private var observers: [@EventLoop () -> Void] = []

  public init(limit: Int) {
    precondition(limit > 0)
    maximum = limit
    self.limit = limit
  }

  public var available: Int { max(0, limit - taken) }

  /// Takes up to `count` permits and returns how many were available.
  public func take(upTo count: Int) -> Int {
    let granted = min(count, available)
    taken += granted
    return granted
  }

  /// Takes one permit; nil if none is available.
  public func take() -> Permit? {
    guard take(upTo: 1) == 1 else { return nil }
    return Permit()
  }

  /// Calls `observer` whenever permits are released or the limit is raised. Observers are called in the order in which
  /// they were added.
  public func onRelease(_ observer: @escaping @EventLoop () -> Void) {
    observers.append(observer)
  }

  public func release(_ count: Int = 1) {
    precondition(count <= taken, "more permits released than taken")
    taken -= count
    for observer in observers { observer() }
  }

  public func release(_ permit: consuming Permit) { release() }

  /// Changes the limit. Permits that are taken stay taken.
  public func setLimit(_ limit: Int) {
    precondition((1...maximum).contains(limit), "a limit of permits is within 1...maximum")
    let isRaised = limit > self.limit
    self.limit = limit
    if isRaised { for observer in observers { observer() } }
  }
}
