package import EventLoop

/// The claims of a worker that are not settled, for all its queues.
@EventLoop
package final class ClaimLedger {
  /// In no order: each knows its place, and the last one takes the place of one that is removed.
  private var claims: [Claim] = []
  private var nextSerial: UInt64 = 0
  private var counts: [Int]

  init(queueCount: Int) {
    counts = Array(repeating: 0, count: queueCount)
  }

  var count: Int { claims.count }

  /// The number of claims of a queue.
  func count(queueIndex: Int) -> Int { counts[queueIndex] }

  func add(_ claim: Claim) {
    nextSerial += 1
    claim.serial = nextSerial
    claim.place = claims.count
    claims.append(claim)
    counts[claim.queueIndex] += 1
  }

  func remove(_ claim: Claim) {
    guard let place = claim.place else { return }
    let last = claims.removeLast()
    if last !== claim {
      claims[place] = last
      last.place = place
    }
    claim.place = nil
    counts[claim.queueIndex] -= 1
  }

  /// The serial number of the claim that was added last.
  var lastSerial: UInt64 { nextSerial }

  /// The claims of a queue, in the order in which they were added.
  func outstanding(queueIndex: Int) -> [Claim] {
    claims.filter { $0.queueIndex == queueIndex }.sorted { $0.serial < $1.serial }
  }

  /// Fences all claims, and removes them. Returns their number.
  func fenceAll() -> Int {
    let lost = claims.count
    for claim in claims {
      claim.isFenced = true
      claim.place = nil
    }
    claims.removeAll()
    counts = counts.map { _ in 0 }
    return lost
  }

  /// Returns the elements of `inflight` that are not in `known`. Equal elements are counted.
  static func unanswered(inflight: [[UInt8]], known: [[UInt8]]) -> [[UInt8]] {
    var expected: [[UInt8]: Int] = [:]
    for element in known { expected[element, default: 0] += 1 }
    return inflight.filter { element in
      guard let left = expected[element], left > 0 else { return true }
      expected[element] = left - 1
      return false
    }
  }
}
