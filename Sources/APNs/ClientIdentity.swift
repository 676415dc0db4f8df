import Crypto
import PushModel

/// What distinguishes clients: apps with equal identities share one client and its connections.
struct ClientIdentity: Hashable, Sendable {
  private struct Key: Hashable {
    let keyID: String
    let teamID: String
    /// SHA-256 of the PEM text.
    let digest: [UInt8]
  }

  private let keys: [Key]
  /// The URLs of the gateways of production and sandbox, and of what takes broadcasts in place of both.
  private let origins: [String?]
  /// Whether one gateway was named for each environment: its refusals prove more.
  private let isNamedForBoth: Bool
  /// The only environment that pushes are sent to; nil for both.
  private let environment: PushEnvironment?
  /// SHA-256 of the PEM text of the authorities.
  let authorities: [UInt8]?
  private let connections: Int

  init(
    keys: [APNsConfiguration.Credentials], origins: [String?], isNamedForBoth: Bool, environment: PushEnvironment?,
    authorities: [UInt8]?, connections: Int
  ) {
    self.keys = keys.map {
      Key(keyID: $0.keyID, teamID: $0.teamID, digest: SHA256.digest(Array($0.privateKeyPEM.utf8)))
    }
    self.origins = origins
    self.isNamedForBoth = isNamedForBoth
    self.environment = environment
    self.authorities = authorities
    self.connections = connections
  }
}
