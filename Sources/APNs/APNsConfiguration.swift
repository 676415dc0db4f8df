/// How to reach APNs and as whom. Checked as a whole when made.
public struct APNsConfiguration: Sendable {
  /// Sent with pushes whose token was registered without an environment; its connection opens at the start.
  public let defaultEnvironment: APNsEnvironment
  /// 1...16.
  public let connectionsPerEnvironment: Int
  public let limits: Limits

  let key: ProviderKey
  let endpointOverride: Origin?
  let caCertificatePEM: String?

  /// - Parameters:
  ///   - keyID: 10 letters and digits, from the name of the .p8 file.
  ///   - teamID: 10 letters and digits.
  ///   - privateKeyPEM: the text of the .p8 file: PKCS#8, P-256.
  ///   - endpointOverride: an https URL whose origin takes the place of both of Apple's gateways.
  ///   - caCertificatePEM: trusted instead of the system's certificates.
  public init(
    keyID: String, teamID: String, privateKeyPEM: String, defaultEnvironment: APNsEnvironment = .production,
    endpointOverride: String? = nil, caCertificatePEM: String? = nil, connectionsPerEnvironment: Int = 1,
    limits: Limits = Limits()
  ) throws(APNsError) {
    guard (1...16).contains(connectionsPerEnvironment) else {
      throw .configuration("connections per environment: \(connectionsPerEnvironment); expected 1...16")
    }
    key = try ProviderKey(keyID: keyID, teamID: teamID, pem: privateKeyPEM)
    if let endpointOverride {
      self.endpointOverride = try Origin(endpointOverride)
    } else {
      self.endpointOverride = nil
    }
    if let caCertificatePEM, !caCertificatePEM.contains("-----BEGIN CERTIFICATE-----") {
      throw .configuration("the CA certificate is no PEM text; expected -----BEGIN CERTIFICATE-----")
    }
    self.caCertificatePEM = caCertificatePEM
    self.defaultEnvironment = defaultEnvironment
    self.connectionsPerEnvironment = connectionsPerEnvironment
    self.limits = limits
  }

  func origin(of environment: APNsEnvironment) throws(APNsError) -> Origin {
    if let endpointOverride { return endpointOverride }
    return try Origin(environment.origin)
  }
}
