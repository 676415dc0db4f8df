public import HTTPClient
public import PushModel
import EventLoop

/// How to reach APNs, and the credentials to use. Valid as a whole once made.
public struct APNsConfiguration: Sendable {
  /// The team's signing key.
  public struct Credentials: Sendable {
    /// 10 letters and digits, from the name of the .p8 file.
    public let keyID: String
    /// 10 letters and digits.
    public let teamID: String
    /// The text of the .p8 file: PKCS#8, P-256.
    public let privateKeyPEM: String

    public init(keyID: String, teamID: String, privateKeyPEM: String) {
      self.keyID = keyID
      self.teamID = teamID
      self.privateKeyPEM = privateKeyPEM
    }
  }

  /// Where pushes go and which certificates are trusted; by default Apple's gateways and the system's authorities.
  public struct Gateway: Sendable {
    /// An https URL whose origin replaces both of Apple's gateways.
    public let endpointOverride: String?
    /// An https URL whose origin replaces the gateway of the sandbox alone.
    public let sandboxOverride: String?
    /// An https URL whose origin takes broadcasts to channels, of both environments, in place of the gateways.
    public var broadcastOverride: String?
    /// An https URL whose origin manages the channels of both environments in place of Apple's servers.
    public var channelsOverride: String?
    /// Trusted in addition to the system's.
    public var authorities: TrustedCertificates?
    /// Connections per environment at most: those beyond the configured number are open while pushes wait for them.
    public var maximumConnections = 4

    public init(
      endpointOverride: String? = nil, sandboxOverride: String? = nil, authorities: TrustedCertificates? = nil
    ) {
      self.endpointOverride = endpointOverride
      self.sandboxOverride = sandboxOverride
      self.authorities = authorities
    }
  }

  /// Valid numbers of connections per environment.
  public static let connectionRange = 1...64
  /// Valid numbers of keys.
  public static let keyRange = 1...8

  /// The environment of tokens that were registered without one. Its connections open at the start.
  public let defaultEnvironment: PushEnvironment
  /// Within ``connectionRange``.
  public let connectionsPerEnvironment: Int
  let maximumConnections: Int
  public let limits: Limits

  /// The first that APNs does not refuse signs.
  let keys: [ProviderKey]
  let authorities: TrustedCertificates?
  /// Equal for configurations that one client can serve.
  let identity: ClientIdentity
  /// Where pushes may go: both, or the only one that the keys are for.
  let environments: [PushEnvironment]
  /// Whether both environments share one gateway.
  let hasOneGateway: Bool
  /// Of which environments the gateway of each knows the tokens; nil: of one of them, but nothing says of which.
  let knownTokens: (production: EnvironmentSet?, sandbox: EnvironmentSet?)
  /// Takes broadcasts to channels; nil if the gateways do.
  let broadcasts: BroadcastOrigins?
  private let production: Origin
  private let sandbox: Origin
  /// Manages channels; nil if Apple's servers do.
  private let channels: Origin?

  /// `credentials` are the keys of one team, within ``keyRange``, the preferred one first. `only` is the one environment that
  /// pushes are sent to, so that a key which APNs refuses there goes on signing elsewhere; nil for both. Throws
  /// ``APNsError/configuration(_:)`` if a value is invalid.
  public init(
    keys credentials: [Credentials], gateway: Gateway = Gateway(), defaultEnvironment: PushEnvironment = .production,
    only: PushEnvironment? = nil, connectionsPerEnvironment: Int = 1, limits: Limits = Limits()
  ) throws(APNsError) {
    guard APNsConfiguration.keyRange.contains(credentials.count) else {
      throw .configuration(
        "\(credentials.count) keys; expected 1 to \(APNsConfiguration.keyRange.upperBound) of a team")
    }
    guard APNsConfiguration.connectionRange.contains(connectionsPerEnvironment) else {
      let expected = "\(APNsConfiguration.connectionRange.lowerBound)...\(APNsConfiguration.connectionRange.upperBound)"
      throw .configuration("connections per environment: \(connectionsPerEnvironment); expected \(expected)")
    }
    var keys: [ProviderKey] = []
    for key in credentials {
      keys.append(try ProviderKey(keyID: key.keyID, teamID: key.teamID, pem: key.privateKeyPEM))
    }
    self.keys = keys
    production = try Origin(gateway.endpointOverride ?? PushEnvironment.production.origin)
    sandbox = try Origin(gateway.sandboxOverride ?? gateway.endpointOverride ?? PushEnvironment.sandbox.origin)
    hasOneGateway = production == sandbox
    let isNamedForBoth = hasOneGateway && gateway.sandboxOverride != nil
    let shared: EnvironmentSet? = isNamedForBoth ? .both : nil
    knownTokens = (
      production.tokensOfApple ?? (hasOneGateway ? shared : .production),
      sandbox.tokensOfApple ?? (hasOneGateway ? shared : .sandbox)
    )
    broadcasts = try gateway.broadcastOverride.map { text throws(APNsError) in try BroadcastOrigins(text) }
    channels = try gateway.channelsOverride.map { text throws(APNsError) in try Origin(text) }
    environments = only.map { [$0] } ?? PushEnvironment.allCases
    authorities = gateway.authorities
    identity = ClientIdentity(
      keys: credentials, origins: [production.url, sandbox.url, broadcasts?.production.url],
      isNamedForBoth: isNamedForBoth, environment: only, authorities: authorities?.digest,
      connections: connectionsPerEnvironment)
    self.defaultEnvironment = only ?? defaultEnvironment
    self.connectionsPerEnvironment = connectionsPerEnvironment
    maximumConnections = max(connectionsPerEnvironment, gateway.maximumConnections)
    self.limits = limits
  }

  func origin(of environment: PushEnvironment) -> Origin { environment == .production ? production : sandbox }

  /// The origin that takes broadcasts to channels.
  func broadcastOrigin(of environment: PushEnvironment) -> Origin {
    broadcasts?.origin(of: environment) ?? origin(of: environment)
  }

  /// The URL of the origin that manages channels.
  func channelsURL(of environment: PushEnvironment) -> String { channels?.url ?? environment.channelsURL }

  /// Whether the channels of both environments are managed at one origin, which cannot tell them apart.
  var hasOneChannelsOrigin: Bool { channels != nil }
}

// Checks of single settings, so that an error can name the setting.
extension APNsConfiguration {
  /// The URL of the default environment's gateway.
  package var defaultOrigin: String { origin(of: defaultEnvironment).url }

  /// Equal for configurations that connect to the default environment's gateway in the same way.
  package var connection: [UInt8] { Array(defaultOrigin.utf8) + (identity.authorities ?? []) }

  /// Whether an accepted push tells to which environment its token belongs: each has a gateway of its own.
  package var knowsEnvironments: Bool { knownTokens == (.production, .sandbox) }

  /// Throws if a key cannot sign a provider token.
  package func checkSigning() throws(APNsError) {
    for key in keys { _ = try key.sign(issuedAt: Clock.unixMilliseconds / 1000) }
  }

  /// The URLs of the gateways that pushes may go to, each once.
  package var origins: [String] {
    hasOneGateway ? [production.url] : environments.map { origin(of: $0).url }
  }

  /// Returns whether `text` is the URL of a possible gateway: https, without a user.
  package static func isOrigin(_ text: String) -> Bool {
    do throws(APNsError) {
      _ = try Origin(text)
      return true
    } catch {
      return false
    }
  }

  /// Returns whether `text` is `https://host[:port]`.
  package static func isGatewayURL(_ text: String) -> Bool {
    let rest = text.lowercased().hasPrefix("https://") ? text.dropFirst("https://".count) : ""
    return !rest.isEmpty && !rest.contains { "/?#@".contains($0) } && isOrigin(text)
  }

  /// The ids of the keys and their team.
  package var keyNames: [(keyID: String, teamID: String)] { keys.map { ($0.keyID, $0.teamID) } }

  /// Returns whether `text` has the form of a key id or a team id.
  package static func isIdentifier(_ text: String) -> Bool { ProviderKey.isIdentifier(text) }

  /// Throws the error that ``init`` would throw for this key.
  package static func check(_ key: Credentials) throws(APNsError) {
    _ = try ProviderKey(keyID: key.keyID, teamID: key.teamID, pem: key.privateKeyPEM)
  }
}

extension APNsConfiguration {
  /// Times and sizes. The defaults suit Apple's gateways.
  public struct Limits: Sendable {
    /// From `send` to the outcome, including the time in the queue.
    public var requestTimeout: Duration = .seconds(20)
    /// DNS, TCP and TLS together.
    public var connectTimeout: Duration = .seconds(10)
    /// After this long without a connection, pushes end at once as not processed.
    public var outagePatience: Duration = .seconds(3)
    public var minimumConnectBackoff: Duration = .seconds(1)
    public var maximumConnectBackoff: Duration = .seconds(60)
    /// A PING is sent if nothing was received for this long after something was written.
    public var quietBeforePing: Duration = .seconds(5)
    /// A PING is sent after this long with nothing in flight, to keep network state alive.
    public var idleBeforePing: Duration = .seconds(60)
    public var pongTimeout: Duration = .seconds(5)
    /// Time between two probes of a paused route.
    public var probeInterval: Duration = .seconds(60)
    /// Minimum time between two changes to a key that APNs has refused before.
    public var keyChangeInterval: Duration = .seconds(60)
    /// After this long the first key is tried again although APNs refused it.
    public var keyRetryInterval: Duration = .seconds(3600)
    /// Connections of an app without a push for this long are closed.
    public var idleBeforeClose: Duration = .seconds(600)
    /// Minimum time between two connection changes that answers ask for, because one device or topic may get such an
    /// answer every time.
    public var minimumDrainInterval: Duration = .seconds(5)
    /// Minimum time between two connections that are replaced because of what they refuse: a device, a topic or a key may be
    /// refused every time. Apple may block who opens connections often.
    public var minimumReplacementInterval: Duration = .seconds(60)
    /// Concurrent streams per connection, even if the server allows more.
    public var maximumStreams = 1000
    /// How often a push that was certainly not processed is sent again.
    public var maximumResends = 3
    /// Time between two checks of deadlines and silent connections.
    public var tick: Duration = .seconds(1)

    public init() {}

    var connectBackoff: Backoff { Backoff(base: minimumConnectBackoff, cap: maximumConnectBackoff) }
  }
}
