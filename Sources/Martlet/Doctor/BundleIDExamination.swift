import APNs
import Operations
import Program
import PushModel

/// Checks that the bundle ids are those of apps. APNs refuses every push to another one, with a reason that does not say so.
struct BundleIDExamination {
  /// Each bundle id with the ids of the teams whose keys are used for it.
  private let apps: [(bundleID: String, teams: [String])]

  /// `configuration` is that of `bundleID`, the default app; both are nil without one.
  init(apps: [APNsApp], configuration: APNsConfiguration?, bundleID: String?) {
    let configured = apps.flatMap { app in
      app.bundleIDs.map { ($0, app.configurations.flatMap { $0.keyNames.map(\.teamID) }) }
    }
    let own = bundleID.map { [($0, configuration?.keyNames.map(\.teamID) ?? [])] } ?? []
    self.apps = own + configured
  }

  func findings() -> [Finding] {
    apps.compactMap { bundleID, teams in
      if let app = PushType.bundleID(ofOwnTopic: bundleID) {
        return Finding(
          "bundle id", .warning, "\(bundleID) looks like a topic, not like a bundle id",
          fix: "set \(app); Martlet adds the rest for each push type")
      }
      guard let team = teams.first(where: { bundleID.hasPrefix($0 + ".") }) else { return nil }
      return Finding(
        "bundle id", .warning, "\(bundleID) begins with the team id",
        fix: "set \(bundleID.dropFirst(team.count + 1)), the bundle id alone")
    }
  }
}
