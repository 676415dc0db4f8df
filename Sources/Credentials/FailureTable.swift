import EventLoop

/// A name that a client presents.
package struct Claim: Hashable {
  /// In place of the id of an instance: all instances that the address names together.
  static let anyInstance = "*"
  /// In place of a name: all names of the address that have no count of their own. No name has a control character.
  private static let otherNames = "\n"
  /// How many times the limit an address may fail for many names together.
  private static let manyNamesFactor = 5

  let kind: Credential.Kind
  /// The client's address.
  let address: String
  /// A username, the name of an operator, or the id of an instance; empty for API keys.
  let name: String

  /// The claim that counts the names which the address has too many of.
  var others: Claim { Claim(kind: kind, address: address, name: Claim.otherNames) }

  /// The limit of this claim.
  func limit(_ limit: WindowLimit) -> WindowLimit {
    let isOfManyNames = name == Claim.otherNames || kind == .instance && name == Claim.anyInstance
    return isOfManyNames ? WindowLimit(limit.count * Claim.manyNamesFactor, per: limit.window) : limit
  }

  /// The claim as part of a Redis key.
  var subject: String {
    name == Claim.otherNames ? "\(kind.rawValue):\(address)" : "\(kind.rawValue):\(address):\(name)"
  }
}

/// The failed authentications that this process has seen. Times are monotonic nanoseconds.
///
/// Bounded: of claims with too few failures for a block at most two generations are kept, and of blocked claims the
/// ``capacity`` that stay blocked longest. So a flood of new names does not end a block. An address has a part of the table
/// only: beyond it, its further names count together, so that it pushes out none of another address.
struct FailureTable {
  /// Claims of one generation, and blocked claims.
  static let capacity = 10_000
  /// The claims of one address, as a part of the capacity.
  private static let addresses = 10

  private struct Entry {
    var count: Int
    let ends: UInt64
    let isShared: Bool
  }

  private let limit: WindowLimit
  private let capacity: Int
  private let capacityOfAddress: Int
  private var current = ClaimMap<Entry>()
  private var previous = ClaimMap<Entry>()
  /// When each block ends.
  private var blocks = ClaimMap<UInt64>()
  /// The number of claims that may still be counted in Redis in this window.
  private var shares: Int
  private var windowEnds: UInt64 = 0

  init(_ limit: WindowLimit, capacity: Int = FailureTable.capacity) {
    self.limit = limit
    self.capacity = capacity
    capacityOfAddress = max(1, capacity / FailureTable.addresses)
    shares = capacity
  }

  var isEmpty: Bool { count == 0 }

  /// The number of claims in the table.
  var count: Int { current.count + previous.count + blocks.count }

  /// Returns how long the claim stays blocked, or nil if it is not blocked.
  func blocked(_ claim: Claim, now: UInt64) -> Duration? {
    guard let ends = blocks[counted(claim)], ends > now else { return nil }
    return .nanoseconds(Int64(clamping: ends - now))
  }

  /// Counts a failure, and blocks the claim if it has reached the limit.
  ///
  /// Returns the claim that counts it, the number of failures in its window, and whether Redis should count the failure too.
  /// During a flood of claims only the first ones are counted in Redis, which would otherwise be filled with them.
  mutating func fail(_ claim: Claim, now: UInt64) -> (claim: Claim, count: Int, isShared: Bool) {
    turn(now)
    let claim = counted(claim)
    let known = current[claim] ?? previous[claim]
    previous[claim] = nil
    var entry = known.flatMap { $0.ends > now ? $0 : nil } ?? fresh(now)
    entry.count += 1
    current[claim] = entry
    if entry.count >= claim.limit(limit).count { block(claim, until: entry.ends, now) }
    return (claim, entry.count, entry.isShared)
  }

  /// Blocks the claim for `left` from now on.
  mutating func block(_ claim: Claim, for left: Duration, now: UInt64) {
    block(claim, until: now &+ UInt64(max(0, left.nanoseconds)), now)
  }

  /// The claim, or the one for further names if its address has as many claims as it may have.
  private func counted(_ claim: Claim) -> Claim {
    let claims = current.count(of: claim.address) + previous.count(of: claim.address) + blocks.count(of: claim.address)
    guard claims >= capacityOfAddress else { return claim }
    let isKnown = current[claim] != nil || previous[claim] != nil || blocks[claim] != nil
    return isKnown ? claim : claim.others
  }

  private mutating func block(_ claim: Claim, until ends: UInt64, _ now: UInt64) {
    if blocks[claim] == nil, blocks.count >= capacity {
      blocks.keep { $0 > now }
      if blocks.count >= capacity, let first = blocks.minimum(by: <) { blocks[first] = nil }
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
    current = ClaimMap()
    guard isOver else { return }
    // What has ended would count against its address.
    previous.keep { $0.ends > now }
    blocks.keep { $0 > now }
    windowEnds = now &+ UInt64(limit.window.nanoseconds)
    shares = capacity
  }
}
