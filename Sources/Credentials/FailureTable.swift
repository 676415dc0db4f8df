import EventLoop

/// A name that a client presents.
package struct PresentedName: Hashable {
  /// How many times the limit a site may fail for all names together.
  private static let anyNameFactor = 5

  let kind: Credential.Kind
  /// The client's address, or its site.
  let address: String
  /// A username, the name of an operator, or the id of an instance; empty for API keys. Nil: all names together.
  let name: String?

  /// The limit of this claim.
  func limit(_ limit: WindowLimit) -> WindowLimit {
    guard name == nil else { return limit }
    return WindowLimit(limit.count * PresentedName.anyNameFactor, per: limit.window)
  }

  /// The claim as part of a Redis key.
  var subject: String { "\(kind.rawValue):\(address)" + (name.map { ":" + $0 } ?? "") }
}

/// The failed authentications that this process has seen. Times are monotonic nanoseconds.
///
/// Bounded: of claims with too few failures for a block at most two generations are kept, and of blocked claims the
/// ``capacity`` that stay blocked longest. So a flood of new names does not end a block.
struct FailureTable {
  /// Claims of one generation, and blocked claims.
  static let capacity = 10_000

  private struct Entry {
    var count: Int
    let ends: UInt64
    let isShared: Bool
  }

  private let limit: WindowLimit
  private let capacity: Int
  private var current: [PresentedName: Entry] = [:]
  private var previous: [PresentedName: Entry] = [:]
  /// When each block ends.
  private var blocks: [PresentedName: UInt64] = [:]
  /// The number of claims that may still be counted in Redis in this window.
  private var shares: Int
  private var windowEnds: UInt64 = 0

  init(_ limit: WindowLimit, capacity: Int = FailureTable.capacity) {
    self.limit = limit
    self.capacity = capacity
    shares = capacity
  }

  var isEmpty: Bool { count == 0 }

  /// The number of claims in the table.
  var count: Int { current.count + previous.count + blocks.count }

  /// Returns how long the claim stays blocked, or nil if it is not blocked.
  func blocked(_ claim: PresentedName, now: UInt64) -> Duration? {
    guard let ends = blocks[claim], ends > now else { return nil }
    return .nanoseconds(Int64(clamping: ends - now))
  }

  /// Counts a failure, and blocks the claim if it has reached the limit.
  ///
  /// Returns the number of failures in the claim's window, and whether Redis should count the failure too. During a flood of
  /// claims only the first ones are counted in Redis, which would otherwise be filled with them.
  mutating func fail(_ claim: PresentedName, now: UInt64) -> (count: Int, isShared: Bool) {
    turn(now)
    let known = current[claim] ?? previous.removeValue(forKey: claim)
    var entry = known.flatMap { $0.ends > now ? $0 : nil } ?? fresh(now)
    entry.count += 1
    current[claim] = entry
    if entry.count >= claim.limit(limit).count { block(claim, until: entry.ends, now) }
    return (entry.count, entry.isShared)
  }

  /// Blocks the claim for `left` from now on.
  mutating func block(_ claim: PresentedName, for left: Duration, now: UInt64) {
    block(claim, until: now &+ UInt64(max(0, left.nanoseconds)), now)
  }

  private mutating func block(_ claim: PresentedName, until ends: UInt64, _ now: UInt64) {
    if blocks[claim] == nil, blocks.count >= capacity {
      blocks = blocks.filter { $0.value > now }
      if blocks.count >= capacity, let first = blocks.min(by: { $0.value < $1.value }) { blocks[first.key] = nil }
    }
    blocks[claim] = ends
    // After the block the claim starts anew.
    current[claim] = nil
    previous[claim] = nil
  }

  private mutating func fresh(_ now: UInt64) -> Entry {
    let isShared = shares > 0
    if isShared { shares -= 1 }
    return Entry(count: 0, ends: now &+ UInt64(limit.window.nanoseconds), isShared: isShared)
  }

  /// Starts a new generation if the current one is full or a window old.
  private mutating func turn(_ now: UInt64) {
    let isOver = now >= windowEnds
    guard isOver || current.count >= capacity else { return }
    previous = current
    current = [:]
    guard isOver else { return }
    blocks = blocks.filter { $0.value > now }
    windowEnds = now &+ UInt64(limit.window.nanoseconds)
    shares = capacity
  }
}
