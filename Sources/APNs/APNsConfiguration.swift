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
    /// One or more authorities to trust in addition to the system's.
    public let caCertificatePEM: String?

    public init(endpointOverride: String? = nil, caCertificatePEM: String? = nil) {
      self.endpointOverride = endpointOverride
      self.caCertificatePEM = caCertificatePEM
    }
  }

  /// Valid numbers of connections per environment.
  public static let connectionRange = 1...64

  /// The environment of tokens that were registered without one. Its connections open at the start.
  public let defaultEnvironment: PushEnvironment
  /// Within ``connectionRange``.
  public let connectionsPerEnvironment: Int
  public let limits: Limits

  let key: ProviderKey
  let endpointOverride: Origin?
  let authorities: TrustedCertificates?
  /// Gateways that replace the one of a single environment; for tests.
  var gateways: [PushEnvironment: Origin] = [:]

  /// Throws ``APNsError/configuration(_:)`` if a value is invalid.
  public init(
    credentials: Credentials, gateway: Gateway = Gateway(), defaultEnvironment: PushEnvironment = .production,
    connectionsPerEnvironment: Int = 1, limits: Limits = Limits()
  ) throws(APNsError) {
    guard APNsConfiguration.connectionRange.contains(connectionsPerEnvironment) else {
      let expected = "\(APNsConfiguration.connectionRange.lowerBound)...\(APNsConfiguration.connectionRange.upperBound)"
      throw .configuration("connections per environment: \(connectionsPerEnvironment); expected \(expected)")
    }
    key = try ProviderKey(keyID: credentials.keyID, teamID: credentials.teamID, pem: credentials.privateKeyPEM)
    if let endpoint = gateway.endpointOverride {
      endpointOverride = try Origin(endpoint)
    } else {
      endpointOverride = nil
    }
    if let pem = gateway.caCertificatePEM {
      authorities = try TrustedCertificates(pem: pem)
    } else {
      authorities = nil
    }
    self.defaultEnvironment = defaultEnvironment
    self.connectionsPerEnvironment = connectionsPerEnvironment
    self.limits = limits
  }

  /// Whether both environments share one gateway.
  var hasOneGateway: Bool { endpointOverride != nil && gateways.isEmpty }

  func origin(of environment: PushEnvironment) throws(APNsError) -> Origin {
    if let origin = gateways[environment] ?? endpointOverride { return origin }
    return try Origin(environment.origin)
  }
}

// Checks of single settings, so that an error can name the setting.
extension APNsConfiguration {
  /// The URL of the default environment's gateway.
  package var defaultOrigin: String {
    get throws(APNsError) { try origin(of: defaultEnvironment).url }
  }

  /// Throws if the key cannot sign a provider token.
  package func checkSigning() throws(APNsError) {
    _ = try key.sign(issuedAt: Clock.unixMilliseconds / 1000)
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

  /// Returns whether `text` has the form of a key id or a team id.
  package static func isIdentifier(_ text: String) -> Bool { ProviderKey.isIdentifier(text) }

  /// Throws the error that ``init`` would throw for this certificate.
  package static func check(caCertificatePEM: String) throws(APNsError) {
    _ = try TrustedCertificates(pem: caCertificatePEM)
  }
}

extension APNsConfiguration {
  /// Times and sizes. The defaults suit Apple's gateways.
  public struct Limits: Sendable {
    /// From `send` to the outcome, including the time in the queue.
    public var requestTimeout: Duration = .seconds(20)
    /// Answers that take longer are slow: see ``AnswerTimes``.
    public var slowAnswer: Duration = .seconds(1)
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
    /// Minimum time between two connection changes that answers ask for, because one device or topic may get such an
    /// answer every time.
    public var minimumDrainInterval: Duration = .seconds(5)
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
