/// Which of a team's keys signs: the first that APNs does not refuse. Pure; times are nanoseconds on CLOCK_MONOTONIC.
///
/// APNs ties a connection to the key of its first push, so a change costs new connections. Answers about one device must not
/// cause one after the other: a key that was refused before is tried again only after a while.
struct KeyChoice: Equatable {
  struct Key: Equatable {
    /// When APNs refused it; nil if it does not.
    var refusedAt: UInt64?
    /// When a push that APNs accepted was signed with it.
    var provenAt: UInt64 = 0
  }

  private(set) var keys: [Key]
  /// The index of the key that signs.
  private(set) var current = 0
  private let changeInterval: UInt64
  private let retryInterval: UInt64
  private var changedAt: UInt64?

  /// `changeInterval`: minimum time between two changes to a key that was refused before. `retryInterval`: after this long the
  /// first key is tried again although it was refused.
  init(count: Int, changeInterval: UInt64, retryInterval: UInt64) {
    keys = Array(repeating: Key(), count: count)
    self.changeInterval = changeInterval
    self.retryInterval = retryInterval
  }

  enum Refusal: Equatable {
    /// Another key signs now.
    case changed
    /// Another key already signs: the push was sent before the change.
    case outdated
    /// No other key is to be tried.
    case none
  }

  /// Records that APNs refused `key` for a push that a connection got at `submittedAt`.
  mutating func refused(_ key: Int, submittedAt: UInt64, now: UInt64) -> Refusal {
    guard key == current else { return .outdated }
    // It has accepted another push since: not the key is refused.
    guard keys[key].provenAt < submittedAt else { return .none }
    keys[key].refusedAt = now
    let fresh = keys.indices.first { $0 != key && keys[$0].refusedAt == nil }
    guard let other = fresh ?? otherAfterWait(now) else { return .none }
    current = other
    changedAt = now
    return .changed
  }

  /// Records that APNs accepted `key`. Returns whether it was refused before.
  mutating func proven(_ key: Int, now: UInt64) -> Bool {
    keys[key].provenAt = now
    guard keys[key].refusedAt != nil else { return false }
    keys[key].refusedAt = nil
    return true
  }

  /// Returns to the first key if that is due. Returns whether it did.
  mutating func retryIfDue(now: UInt64) -> Bool {
    guard current != 0, let refusedAt = keys[0].refusedAt, now >= refusedAt + retryInterval else { return false }
    current = 0
    changedAt = now
    return true
  }

  /// All keys were refused: the next one, unless the last change was a moment ago.
  private func otherAfterWait(_ now: UInt64) -> Int? {
    guard keys.count > 1, let changedAt, now >= changedAt + changeInterval else { return nil }
    return (current + 1) % keys.count
  }
}
