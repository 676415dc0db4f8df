import JSON
import PushModel

/// The apps of a ``WorkerReport``.
extension AppState {
  /// Bundle ids of one app in a report, at most.
  private static let maximumBundleIDs = 10
  /// Keys, and gateways, that are read of one app.
  private static let maximumParts = 8

  /// Returns nil if `value` is not an app.
  init?(_ value: JSONValue) {
    guard let bundleIDs = value["bundleIds"]?.array else { return nil }
    func parts<Part>(_ key: String, _ read: (JSONValue) -> Part?) -> [Part] {
      (value[key]?.array ?? []).prefix(AppState.maximumParts).compactMap(read)
    }
    self.init(
      bundleIDs: bundleIDs.prefix(AppState.maximumBundleIDs).compactMap(\.string),
      team: value["team"]?.string ?? "", keys: parts("keys", Key.init), gateways: parts("gateways", Gateway.init))
    servesOthers = value["servesOthers"]?.bool ?? false
    environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:))
    share = value["share"].present ?? 1
    inFlight = value["inFlight"].present ?? 0
    removedTokens = Int64(value["removedTokens"].present ?? 0)
  }

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
  fileprivate init?(_ value: JSONValue) {
    guard let id = value["id"]?.string, let state = value["state"]?.string.flatMap(State.init) else { return nil }
    self.init(id: id, state: state)
  }

  fileprivate var object: JSONObject { ["id": id, "state": state.rawValue] }
}

extension AppState.Gateway {
  fileprivate init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      let url = value["url"]?.string, let state = value["state"]?.string.flatMap(State.init)
    else { return nil }
    self.init(
      environment: environment, url: url, connections: value["connections"].present ?? 0, state: state)
  }

  fileprivate var object: JSONObject {
    ["environment": environment.rawValue, "url": url, "state": state.rawValue, "connections": connections]
  }
}
