public import PushModel

/// How to reach APNs and as whom. Checked as a whole when made.
public struct APNsConfiguration: Sendable {
  /// Sent with pushes whose token was registered without an environment; its connection opens at the start.
  public let defaultEnvironment: PushEnvironment
  /// As many as a pool may have.
  public static let connectionRange = 1...64

  /// Within ``connectionRange``.
  public let connectionsPerEnvironment: Int
  public let limits: Limits

  let key: ProviderKey
  let endpointOverride: Origin?
  let authorities: TrustedCertificates?
  /// Other gateways of single environments, for tests.
  var gateways: [PushEnvironment: Origin] = [:]

  /// - Parameters:
  ///   - keyID: 10 letters and digits, from the name of the .p8 file.
  ///   - teamID: 10 letters and digits.
  ///   - privateKeyPEM: the text of the .p8 file: PKCS#8, P-256.
  ///   - endpointOverride: an https URL whose origin takes the place of both of Apple's gateways.
  ///   - caCertificatePEM: authorities that are trusted beside the system's; one or several.
  public init(
    keyID: String, teamID: String, privateKeyPEM: String, defaultEnvironment: PushEnvironment = .production,
    endpointOverride: String? = nil, caCertificatePEM: String? = nil, connectionsPerEnvironment: Int = 1,
    limits: Limits = Limits()
  ) throws(APNsError) {
    guard APNsConfiguration.connectionRange.contains(connectionsPerEnvironment) else {
      let expected = "\(APNsConfiguration.connectionRange.lowerBound)...\(APNsConfiguration.connectionRange.upperBound)"
      throw .configuration("connections per environment: \(connectionsPerEnvironment); expected \(expected)")
    }
    key = try ProviderKey(keyID: keyID, teamID: teamID, pem: privateKeyPEM)
    if let endpointOverride {
      self.endpointOverride = try Origin(endpointOverride)
    } else {
      self.endpointOverride = nil
    }
    if let caCertificatePEM {
      authorities = try TrustedCertificates(pem: caCertificatePEM)
    } else {
      authorities = nil
    }
    self.defaultEnvironment = defaultEnvironment
    self.connectionsPerEnvironment = connectionsPerEnvironment
    self.limits = limits
  }

  /// Both environments go to one gateway.
  var hasOneGateway: Bool { endpointOverride != nil && gateways.isEmpty }

  func origin(of environment: PushEnvironment) throws(APNsError) -> Origin {
    if let origin = gateways[environment] ?? endpointOverride { return origin }
    return try Origin(environment.origin)
  }
}
