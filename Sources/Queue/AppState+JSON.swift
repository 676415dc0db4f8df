import JSON
import PushModel

/// The apps of a ``WorkerReport``.
extension AppState {
  /// Bundle ids of one app in a report, at most.
  package static let maximumBundleIDs = 10

  /// `{"app","team","environment","bundleIds","keys","gateways","share","inFlight","removedTokens","servesOthers"?}`
  var object: JSONObject {
    [
      "app": name, "team": team, "environment": environment?.rawValue,
      "bundleIds": Array(bundleIDs.prefix(AppState.maximumBundleIDs)), "keys": keys.map(\.object),
      "gateways": gateways.map(\.object), "share": share, "inFlight": inFlight, "removedTokens": removedTokens,
      "servesOthers": servesOthers ? true : nil,
    ]
  }
}

extension AppState.Key {
  fileprivate var object: JSONObject { ["id": id, "state": state.rawValue] }
}

extension AppState.Gateway {
  fileprivate var object: JSONObject {
    ["environment": environment.rawValue, "url": url, "state": state.rawValue, "connections": connections]
  }
}
