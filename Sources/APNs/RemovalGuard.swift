/// Distinguishes a few invalid tokens from a wrong bundle id or environment, for which APNs refuses every token.
///
/// Remembers the latest answer of each of the last owners, so that an owner with many devices counts once.
struct RemovalGuard {
  /// Owners remembered per route.
  static let windowOwners = 100
  /// Fewer owners with refused tokens never stop the removal.
  static let minimumSuspects = 20
  /// Removal stops when more than 1 of 2 owners are suspect, and starts again at 1 of 4: the limits differ so that
  /// removal does not switch on and off repeatedly.
  private static let (stopDivisor, resumeDivisor) = (2, 4)

  private var owners: [Int] = []
  private var isSuspect: [Bool] = []
  /// Index of the oldest owner once the window is full.
  private var oldest = 0
  private(set) var suspects = 0
  /// Whether most owners' tokens are refused, so that no token may be removed.
  private(set) var isTripped = false

  var ownerCount: Int { owners.count }

  /// Whether the window is full and no owner is suspect: another such owner changes nothing.
  var isAllGood: Bool { suspects == 0 && owners.count == RemovalGuard.windowOwners }

  /// Records an answer; `owner` is a hash. Returns whether ``isTripped`` has changed.
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
