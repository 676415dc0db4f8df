package import EventLoop

/// The jobs in this worker's hands, for all its queues.
@EventLoop
package final class ClaimLedger {
  private var claims: [UInt64: Claim] = [:]
  private var nextSerial: UInt64 = 0
  private var counts: [Int]

  init(queueCount: Int) {
    counts = Array(repeating: 0, count: queueCount)
  }

  var isEmpty: Bool { claims.isEmpty }
  var count: Int { claims.count }

  var all: Dictionary<UInt64, Claim>.Values { claims.values }

  /// How many stand in the in-flight list of a queue.
  func count(queueIndex: Int) -> Int { counts[queueIndex] }

  func add(_ claim: Claim) {
    nextSerial += 1
    claim.serial = nextSerial
    claims[nextSerial] = claim
    counts[claim.queueIndex] += 1
  }

  func remove(_ claim: Claim) {
    guard claims.removeValue(forKey: claim.serial) != nil else { return }
    counts[claim.queueIndex] -= 1
  }

  /// The number of the last claim that was added.
  var lastSerial: UInt64 { nextSerial }

  func outstanding(queueIndex: Int) -> [Claim] {
    claims.values.filter { $0.queueIndex == queueIndex }.sorted { $0.serial < $1.serial }
  }

  /// Forgets everything; each claim learns that it is no longer this worker's.
  func fence() -> Int {
    let lost = claims.count
    for claim in claims.values { claim.isFenced = true }
    claims.removeAll()
    counts = counts.map { _ in 0 }
    return lost
  }

  /// What stands in the in-flight list although nobody here knows of it: claims whose answer never arrived.
  /// Equal elements are told apart by their number only.
  static func ghosts(inflight: [[UInt8]], known: [[UInt8]]) -> [[UInt8]] {
    var expected: [[UInt8]: Int] = [:]
    for element in known { expected[element, default: 0] += 1 }
    return inflight.filter { element in
      guard let left = expected[element], left > 0 else { return true }
      expected[element] = left - 1
      return false
    }
  }
}
