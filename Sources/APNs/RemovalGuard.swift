/// Tells a few dead tokens from a wrong bundle id or environment, which makes every token look bad.
///
/// It remembers the latest answer of each of the last owners, so that no owner counts twice, however many devices it has.
struct RemovalGuard {
  /// Owners remembered per route.
  static let windowOwners = 100
  /// Fewer owners with refused tokens say nothing.
  static let minimumSuspects = 20
  /// Removal stops when more than 1 of 2 owners are suspect, and resumes at 1 of 4: the two are apart so that a share
  /// around the limit does not turn it on and off.
  private static let (stopDivisor, resumeDivisor) = (2, 4)

  private var owners: [Int] = []
  private var isSuspect: [Bool] = []
  /// The oldest owner, once there are as many as are remembered.
  private var oldest = 0
  private(set) var suspects = 0
  /// Most owners' tokens are refused: none is to be removed.
  private(set) var isTripped = false

  var ownerCount: Int { owners.count }

  /// It remembers as many owners as it can, none of them suspect: one more like them changes nothing.
  var isAllGood: Bool { suspects == 0 && owners.count == RemovalGuard.windowOwners }

  /// `owner` is a hash. True: ``isTripped`` has changed.
  mutating func record(owner: Int, isSuspect suspect: Bool) -> Bool {
    if let index = owners.firstIndex(of: owner) {
      guard isSuspect[index] != suspect else { return false }
      isSuspect[index] = suspect
      suspects += suspect ? 1 : -1
    } else {
      add(owner, suspect)
    }
    let was = isTripped
    isTripped =
      was
      ? suspects * RemovalGuard.resumeDivisor > owners.count
      : suspects >= RemovalGuard.minimumSuspects && suspects * RemovalGuard.stopDivisor > owners.count
    return isTripped != was
  }

  private mutating func add(_ owner: Int, _ suspect: Bool) {
    suspects += suspect ? 1 : 0
    guard owners.count == RemovalGuard.windowOwners else {
      owners.append(owner)
      isSuspect.append(suspect)
      return
    }
    suspects -= isSuspect[oldest] ? 1 : 0
    owners[oldest] = owner
    isSuspect[oldest] = suspect
    oldest = (oldest + 1) % RemovalGuard.windowOwners
  }
}
