import Credentials
import EventLoop
import Registry

/// Who claims to be whom, and from where.
package struct Claim: Hashable {
  let kind: Credential.Kind
  /// Of the client: ``TrustedProxies/client(of:)``.
  let address: String
  /// A username, the id of an instance; empty for API keys.
  let name: String

  /// As part of a key.
  var subject: String { "\(kind.rawValue):\(address):\(name)" }
}

/// The failed authentications that this process has seen lately. Bounded: of more than two generations of claims the oldest
/// are forgotten. Times are monotonic nanoseconds.
struct FailureTable {
  /// Claims of one generation.
  static let capacity = 10_000

  private struct Entry {
    var count: Int
    var ends: UInt64
    var isBlocked: Bool
    let isShared: Bool
  }

  private let limit: WindowLimit
  private let capacity: Int
  private var current: [Claim: Entry] = [:]
  private var previous: [Claim: Entry] = [:]
  /// Claims that may still be counted in redis in this window.
  private var shares: Int
  private var windowEnds: UInt64 = 0

  init(_ limit: WindowLimit, capacity: Int = FailureTable.capacity) {
    self.limit = limit
    self.capacity = capacity
    shares = capacity
  }

  var isEmpty: Bool { current.isEmpty && previous.isEmpty }

  /// Claims that are known.
  var count: Int { current.count + previous.count }

  /// How long the claim is refused; nil when it is not.
  func blocked(_ claim: Claim, now: UInt64) -> Duration? {
    guard let entry = current[claim] ?? previous[claim], entry.isBlocked, entry.ends > now else { return nil }
    return .nanoseconds(Int64(clamping: entry.ends - now))
  }

  /// Counts a failure. Returns how many there are in the claim's window, and whether the fleet is to count it, too: of a flood
  /// of claims only the first are, so that redis is not filled with them.
  mutating func fail(_ claim: Claim, now: UInt64) -> (count: Int, isShared: Bool) {
    turn(now)
    let known = current[claim] ?? previous.removeValue(forKey: claim)
    var entry = known.flatMap { $0.ends > now ? $0 : nil } ?? fresh(now)
    entry.count += 1
    if entry.count >= limit.count { entry.isBlocked = true }
    current[claim] = entry
    return (entry.count, entry.isShared)
  }

  /// Refuses the claim for `left` from now on, as the fleet has counted.
  mutating func block(_ claim: Claim, for left: Duration, now: UInt64) {
    guard var entry = current[claim] ?? previous[claim] else { return }
    entry.isBlocked = true
    entry.ends = now &+ UInt64(max(0, left.nanoseconds))
    current[claim] = entry
    previous[claim] = nil
  }

  private mutating func fresh(_ now: UInt64) -> Entry {
    let isShared = shares > 0
    if isShared { shares -= 1 }
    return Entry(count: 0, ends: now &+ UInt64(limit.window.nanoseconds), isBlocked: false, isShared: isShared)
  }

  /// Begins a generation when this one is full or a window old.
  private mutating func turn(_ now: UInt64) {
    let isOver = now >= windowEnds
    guard isOver || current.count >= capacity else { return }
    previous = current
    current = [:]
    guard isOver else { return }
    windowEnds = now &+ UInt64(limit.window.nanoseconds)
    shares = capacity
  }
}
