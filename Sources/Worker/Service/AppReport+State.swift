import EventLoop
import PushModel
import APNs
import Queue

extension AppReport {
  /// `bundleID` and `environment`: the defaults of the worker.
  @EventLoop
  init(_ state: AppState, bundleID: String?, environment: String, inFlight: Int, removedTokens: Int64) {
    let isFallback = state.bundleIDs.isEmpty
    let bundleIDs = isFallback ? [bundleID].compactMap { $0 } : state.bundleIDs
    self.init(
      app: bundleIDs.first ?? AppLanes.otherApps, bundleIDs: Array(bundleIDs.prefix(AppReport.maximumBundleIDs)),
      team: state.teamID, keys: state.keys.map(Key.init), environment: state.environment?.rawValue ?? environment,
      share: state.share, gateways: state.gateways.map(Gateway.init), inFlight: inFlight,
      removedTokens: removedTokens)
    servesOthers = isFallback
  }
}

extension AppReport.Key {
  fileprivate init(_ key: AppState.Key) {
    self.init(id: key.id, state: key.signs ? .signs : key.isRefused ? .refused : .spare)
  }
}

extension AppReport.Gateway {
  fileprivate init(_ gateway: AppState.Gateway) {
    self.init(
      environment: gateway.environment.rawValue, url: gateway.url, connections: gateway.openConnections,
      state: gateway.isUnavailable ? .unreachable : gateway.openConnections > 0 ? .connected : .connecting)
  }
}

extension RouteUseReport {
  init(_ route: RouteState) {
    self.init(
      environment: route.environment.rawValue, topic: route.topic, owners: route.owners, suspects: route.suspects)
  }
}
