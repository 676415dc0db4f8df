/// The share of the permits of one app, which may have several bundle ids.
package struct AppShare: Sendable, Equatable {
  /// The share of an app for which none is set.
  package static let standard = 1

  /// The name of the app: its first bundle id.
  package let app: String
  /// Relative to the shares of the other apps; at least 1.
  package let share: Int

  package init(app: String, share: Int = AppShare.standard) {
    precondition(share > 0)
    self.app = app
    self.share = share
  }
}

extension [String: AppShare] {
  /// The shares of apps, each with its bundle ids, by bundle id.
  package init(apps: some Sequence<(bundleIDs: [String], share: Int)>) {
    self.init()
    for entry in apps {
      guard let name = entry.bundleIDs.first else { continue }
      for bundleID in entry.bundleIDs { self[bundleID] = AppShare(app: name, share: entry.share) }
    }
  }
}
