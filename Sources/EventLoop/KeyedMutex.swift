/// A mutex per key: callers with the same key run one after the other, in the order of their calls.
@EventLoop
public final class KeyedMutex<Key: Hashable & Sendable> {
  private let limit: Int
  /// Those who wait for each key that is taken.
  private var waiting: [Key: [@EventLoop () -> Void]] = [:]

  /// `limit` is how many may wait for one key.
  public init(limit: Int = .max) {
    self.limit = limit
  }

  /// Calls `body` when the key is free: now, if nobody has it. It must be given back with ``leave(_:)``. Returns false, and
  /// does not call `body`, if too many wait.
  @discardableResult
  public func take(_ key: Key, _ body: @escaping @EventLoop () -> Void) -> Bool {
    guard let others = waiting[key]?.count else {
      waiting[key] = []
      body()
      return true
    }
    guard others < limit else { return false }
    waiting[key]?.append(body)
    return true
  }

  /// Returns when the key is free: true, or false at once if too many wait.
  @discardableResult
  public func take(_ key: Key) async -> Bool {
    await withCheckedContinuation { continuation in
      if !take(key, { continuation.resume(returning: true) }) { continuation.resume(returning: false) }
    }
  }

  public func leave(_ key: Key) {
    guard var others = waiting[key], !others.isEmpty else { return waiting[key] = nil }
    let next = others.removeFirst()
    waiting[key] = others
    next()
  }
}
