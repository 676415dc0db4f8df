import EventLoop
import PushModel
import Queue

/// The lanes of the apps that this worker had jobs of in the last ten minutes.
///
/// If apps are configured, all other bundle ids together are one app. Otherwise each bundle id is an app. The number of
/// apps is limited, because bundle ids come from producers: further bundle ids together are one app.
@EventLoop
final class AppLanes {
  /// Apps that are not configured, at most.
  static let maximumUnlisted = 64
  /// Configured apps that metrics show one by one, at most.
  static let maximumLabels = 99
  /// An app without pushes is forgotten after this many intervals of ``ConcurrencyControl``: ten minutes.
  static let forgottenAfter = 1200

  /// Whether permits may be needed for more than one app. If not, pushes are sent as if there were no apps.
  private(set) var isShared: Bool
  private(set) var all: [AppLane] = []
  /// The names of the configured apps, in their order.
  private(set) var configuredApps: [String] = []
  /// The names of configured apps that metrics show.
  private(set) var labels: Set<String> = []

  private var shares: [String: AppShare] = [:]
  private let hasOtherApps: Bool
  private let limit: Int
  private var byBundleID: [String: AppLane] = [:]
  private var byName: [String: AppLane] = [:]
  private var unlistedCount = 0
  /// Most pushes are of the same app as the push before.
  private var latest: (bundleID: String, lane: AppLane)?

  /// `shares`: of the configured apps, by bundle id. `hasOtherApps`: bundle ids that are not configured are pushed to, too.
  /// `limit`: pushes of one app in flight, at most.
  init(shares: [String: AppShare], hasOtherApps: Bool, limit: Int) {
    self.hasOtherApps = hasOtherApps
    self.limit = limit
    isShared = false
    configure(shares)
  }

  /// Replaces the configured apps. Pushes in flight and waiting stay in their lanes.
  func configure(_ shares: [String: AppShare]) {
    self.shares = shares
    configuredApps = Set(shares.values.map(\.app)).sorted()
    labels = Set(configuredApps.prefix(AppLanes.maximumLabels))
    byBundleID = [:]
    unlistedCount = 0
    latest = nil
    updateCount()
  }

  /// The share of a configured app; the standard one for any other.
  func share(ofApp name: String) -> Int {
    shares.values.first { $0.app == name }?.share ?? AppShare.standard
  }

  /// The lane of the push's app. It is looked up once for all pushes of a job to one app.
  @inline(__always)
  func lane(of content: PushContent) -> AppLane {
    if let lane = content.lane { return lane }
    let lane = lane(ofBundleID: content.bundleID)
    content.lane = lane
    return lane
  }

  func lane(ofBundleID bundleID: String) -> AppLane {
    if let latest, latest.bundleID == bundleID { return latest.lane }
    let lane = byBundleID[bundleID] ?? add(bundleID)
    latest = (bundleID, lane)
    return lane
  }

  /// The value of the label `app` in metrics: the name of a configured app, of a few, or ``AppState/otherApps``.
  func label(of lane: AppLane) -> String { labels.contains(lane.name) ? lane.name : AppState.otherApps }

  /// Forgets the apps that had no push for a long time.
  func removeIdle(after intervals: Int = AppLanes.forgottenAfter) {
    guard all.contains(where: { $0.isIdle && $0.idleIntervals >= intervals }) else { return }
    all.removeAll { $0.isIdle && $0.idleIntervals >= intervals }
    let kept = Set(all.map(ObjectIdentifier.init))
    byBundleID = byBundleID.filter { kept.contains(ObjectIdentifier($0.value)) }
    byName = byName.filter { kept.contains(ObjectIdentifier($0.value)) }
    unlistedCount = byBundleID.keys.count { shares[$0] == nil }
    latest = nil
    updateCount()
  }

  private func updateCount() {
    let expected = configuredApps.isEmpty ? 0 : configuredApps.count + (hasOtherApps ? 1 : 0)
    isShared = expected > 1 || all.count > 1
  }

  /// The apps that APNs answers slowly, those with the most jobs first.
  var slowApps: [SlowAppReport] {
    guard isShared else { return [] }
    let slow = all.filter { $0.app.isSlow || $0.app.limit < limit }
      .sorted { ($0.app.waitingJobs, $0.app.inFlight) > ($1.app.waitingJobs, $1.app.inFlight) }
    return slow.prefix(SlowAppReport.maximumListed).map {
      SlowAppReport(
        app: $0.name, inFlight: $0.app.inFlight, concurrency: $0.app.limit, waiting: $0.app.waitingJobs)
    }
  }

  private func add(_ bundleID: String) -> AppLane {
    if let configured = shares[bundleID] {
      let lane = named(configured.app, share: configured.share)
      byBundleID[bundleID] = lane
      return lane
    }
    guard shares.isEmpty else { return named(AppState.otherApps, share: AppShare.standard) }
    if unlistedCount >= AppLanes.maximumUnlisted { removeIdle(after: 1) }
    guard unlistedCount < AppLanes.maximumUnlisted else {
      return named(AppState.otherApps, share: AppShare.standard)
    }
    let lane = named(bundleID, share: AppShare.standard)
    byBundleID[bundleID] = lane
    unlistedCount += 1
    return lane
  }

  private func named(_ name: String, share: Int) -> AppLane {
    if let lane = byName[name] { return lane }
    let lane = AppLane(name: name, share: share, limit: limit)
    byName[name] = lane
    all.append(lane)
    updateCount()
    return lane
  }
}
