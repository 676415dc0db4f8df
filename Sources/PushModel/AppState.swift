/// How the pushes of one app reach APNs at present, for operators.
public struct AppState: Sendable, Equatable {
  public struct Key: Sendable, Equatable {
    public enum State: String, Sendable {
      /// It signs the provider tokens.
      case signs
      /// APNs refuses it while the team has another one.
      case refused
      case spare
    }

    public let id: String
    public let state: State

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

    public let environment: PushEnvironment
    public let url: String
    /// Connections that take pushes.
    public let connections: Int
    public let state: State

    public init(environment: PushEnvironment, url: String, connections: Int, state: State) {
      self.environment = environment
      self.url = url
      self.connections = connections
      self.state = state
    }
  }

  /// Maximum length of a list of states.
  public static let maximumListed = 20
  /// The name of all apps together that have none of their own.
  public static let otherApps = "other"

  /// Of the app of all bundle ids that no other app names, the default of the process, if it has one.
  public var bundleIDs: [String]
  /// Whether the bundle ids that no other app names are this app's.
  public var servesOthers = false
  public var team: String
  public var keys: [Key]
  /// The environment of devices that were registered without one; nil for the default of the process.
  public var environment: PushEnvironment?
  public var share = 1
  /// Those that pushes have needed lately.
  public var gateways: [Gateway]
  public var inFlight = 0
  /// Tokens that APNs reported as stale and that were removed since the worker started.
  public var removedTokens: Int64 = 0

  public init(bundleIDs: [String], team: String, keys: [Key], gateways: [Gateway] = []) {
    self.bundleIDs = bundleIDs
    self.team = team
    self.keys = keys
    self.gateways = gateways
  }

  /// The first bundle id, else ``otherApps``.
  public var name: String { bundleIDs.first ?? AppState.otherApps }
}
