import JSON

/// How the pushes of one app reach APNs, as a ``WorkerReport`` stores it.
public struct AppReport: Sendable, Equatable {
  public struct Key: Sendable, Equatable {
    public enum State: String, Sendable {
      case signs, refused, spare
    }

    public var id: String
    public var state: State

    public init(id: String, state: State) {
      self.id = id
      self.state = state
    }
  }

  /// The connections to one gateway.
  public struct Gateway: Sendable, Equatable {
    public enum State: String, Sendable {
      case connected, connecting, unreachable
    }

    public var environment: String
    public var url: String
    /// Connections that take pushes.
    public var connections: Int
    public var state: State

    public init(environment: String, url: String, connections: Int, state: State) {
      self.environment = environment
      self.url = url
      self.connections = connections
      self.state = state
    }
  }

  /// Entries of a report, at most.
  public static let maximumListed = 20
  /// Bundle ids of one app in a report, at most.
  public static let maximumBundleIDs = 10
  /// Keys, and gateways, that are read of one app.
  private static let maximumParts = 4

  /// The first bundle id of the app; `other` for the bundle ids that no app names, unless the worker has a default bundle id.
  public var app: String
  /// The first of them.
  public var bundleIDs: [String]
  /// Whether the bundle ids that no other app names are this app's.
  public var servesOthers = false
  public var team: String
  public var keys: [Key]
  /// The environment of devices that were registered without one.
  public var environment: String
  public var share: Int
  /// The gateways that recent pushes needed.
  public var gateways: [Gateway]
  public var inFlight: Int
  /// Tokens that APNs reported as stale and that were removed since the worker started.
  public var removedTokens: Int64

  public init(
    app: String, bundleIDs: [String], team: String, keys: [Key], environment: String, share: Int,
    gateways: [Gateway], inFlight: Int = 0, removedTokens: Int64 = 0
  ) {
    self.app = app
    self.bundleIDs = bundleIDs
    self.team = team
    self.keys = keys
    self.environment = environment
    self.share = share
    self.gateways = gateways
    self.inFlight = inFlight
    self.removedTokens = removedTokens
  }

  /// Returns nil if `value` is not a report.
  init?(_ value: JSONValue) {
    guard let app = value["app"]?.string else { return nil }
    func parts<Part>(_ key: String, _ read: (JSONValue) -> Part?) -> [Part] {
      (value[key]?.array ?? []).prefix(AppReport.maximumParts).compactMap(read)
    }
    self.init(
      app: app,
      bundleIDs: (value["bundleIds"]?.array ?? []).prefix(AppReport.maximumBundleIDs).compactMap(\.string),
      team: value["team"]?.string ?? "", keys: parts("keys", Key.init),
      environment: value["environment"]?.string ?? "", share: value["share"].present ?? 1,
      gateways: parts("gateways", Gateway.init), inFlight: value["inFlight"].present ?? 0,
      removedTokens: Int64(value["removedTokens"].present ?? 0))
    servesOthers = value["servesOthers"]?.bool ?? false
  }

  static func list(_ value: JSONValue?) -> [AppReport] {
    (value?.array ?? []).prefix(maximumListed).compactMap(AppReport.init)
  }

  /// `{"app","team","environment","bundleIds","keys","gateways","share","inFlight","removedTokens","servesOthers"?}`
  var object: JSONObject {
    [
      "app": app, "team": team, "environment": environment,
      "bundleIds": Array(bundleIDs.prefix(AppReport.maximumBundleIDs)), "keys": keys.map(\.object),
      "gateways": gateways.map(\.object), "share": share, "inFlight": inFlight, "removedTokens": removedTokens,
      "servesOthers": servesOthers ? true : nil,
    ]
  }
}

extension AppReport.Key {
  fileprivate init?(_ value: JSONValue) {
    guard let id = value["id"]?.string, let state = value["state"]?.string.flatMap(State.init) else { return nil }
    self.init(id: id, state: state)
  }

  fileprivate var object: JSONObject { ["id": id, "state": state.rawValue] }
}

extension AppReport.Gateway {
  fileprivate init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string, let url = value["url"]?.string,
      let state = value["state"]?.string.flatMap(State.init)
    else { return nil }
    self.init(
      environment: environment, url: url, connections: value["connections"].present ?? 0, state: state)
  }

  fileprivate var object: JSONObject {
    ["environment": environment, "url": url, "state": state.rawValue, "connections": connections]
  }
}
