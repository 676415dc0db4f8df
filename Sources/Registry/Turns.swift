import EventLoop

/// Lets those who change the same thing do it one after the other, in the order of their calls.
@EventLoop
final class Turns {
  /// Those who wait for each key that is taken.
  private var waiting: [String: [@EventLoop () -> Void]] = [:]

  /// Calls `body` when the key is free: now, if nobody has it. It must be given back with ``leave(_:)``.
  func take(_ key: String, _ body: @escaping @EventLoop () -> Void) {
    guard waiting[key]?.append(body) == nil else { return }
    waiting[key] = []
    body()
  }

  func take(_ key: String) async {
    await withCheckedContinuation { continuation in take(key) { continuation.resume() } }
  }

  func leave(_ key: String) {
    guard var others = waiting[key], !others.isEmpty else { return waiting[key] = nil }
    let next = others.removeFirst()
    waiting[key] = others
    next()
  }
}
