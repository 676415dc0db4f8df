import EventLoop

/// How many stale tokens of each app were removed since the worker started.
@EventLoop
final class RemovalTally {
  /// Bundle ids that are counted one by one: they come from producers.
  static let maximumListed = 100

  private(set) var total: Int64 = 0
  private var byBundleID: [String: Int64] = [:]

  func add(_ count: Int, bundleID: String?) {
    guard count > 0 else { return }
    total += Int64(count)
    guard let bundleID, byBundleID[bundleID] != nil || byBundleID.count < RemovalTally.maximumListed else { return }
    byBundleID[bundleID, default: 0] += Int64(count)
  }

  func count(of bundleIDs: [String]) -> Int64 { bundleIDs.reduce(0) { $0 + (byBundleID[$1] ?? 0) } }

  func count(except bundleIDs: Set<String>) -> Int64 { total - count(of: Array(bundleIDs)) }
}
