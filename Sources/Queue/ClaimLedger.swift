package import EventLoop

/// The claims of a worker that are not settled, for all its queues.
@EventLoop
package final class ClaimLedger {
  /// The first and the last of claims that follow each other in an in-flight list, and their number.
  typealias Run = (first: Claim, last: Claim, count: Int)

  /// Places of removed claims that a queue keeps, beyond one for each claim.
  private static let freePlaces = 64

  /// Of each queue, in the order in which they were added. Each knows its place, which is nil after its removal.
  private var claims: [[Claim?]]
  /// Of each queue the place of the first claim whose settlement may not have been sent.
  private var oldest: [Int]
  private(set) var count = 0
  /// The serial number of the claim that was added last.
  private(set) var lastSerial: UInt64 = 0

  init(queueCount: Int) {
    claims = Array(repeating: [], count: queueCount)
    oldest = Array(repeating: 0, count: queueCount)
  }

  func add(_ claim: Claim) {
    lastSerial += 1
    count += 1
    claim.serial = lastSerial
    claim.place = claims[claim.queueIndex].count
    claims[claim.queueIndex].append(claim)
  }

  func remove(_ claim: Claim) {
    guard let place = claim.place else { return }
    claim.place = nil
    count -= 1
    claims[claim.queueIndex][place] = nil
    if claims[claim.queueIndex].count > 2 * count + ClaimLedger.freePlaces { closeUp(claim.queueIndex) }
  }

  private func closeUp(_ queueIndex: Int) {
    let places = claims[queueIndex]
    claims[queueIndex] = []
    oldest[queueIndex] = 0
    // A plain loop: an isolated closure checks its executor at every call.
    for case let claim? in places {
      claim.place = claims[queueIndex].count
      claims[queueIndex].append(claim)
    }
  }

  /// The claims of a queue, in the order in which they were added.
  func outstanding(queueIndex: Int) -> [Claim] { claims[queueIndex].compactMap(\.self) }

  /// Returns the oldest claims of a queue whose settlement was not sent, for as long as they are to be acknowledged next
  /// and came in order.
  ///
  /// The in-flight list has them all, in this order. If the distance between the first and the last there equals their count, no
  /// other job lies between them.
  func takeOldest(queueIndex: Int) -> Run? {
    var run: Run?
    while oldest[queueIndex] < claims[queueIndex].count {
      if let claim = claims[queueIndex][oldest[queueIndex]], !claim.isSent {
        guard claim.isNext, claim.isInOrder else { break }
        run = (run?.first ?? claim, claim, (run?.count ?? 0) + 1)
      }
      oldest[queueIndex] += 1
    }
    return run
  }

  /// Fences all claims, and removes them. Returns their number.
  func fenceAll() -> Int {
    let lost = count
    for case let claim? in claims.joined() {
      claim.isFenced = true
      claim.place = nil
    }
    (claims, oldest, count) = (claims.map { _ in [] }, oldest.map { _ in 0 }, 0)
    return lost
  }
}
