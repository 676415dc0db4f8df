public import Credentials
public import PushModel
import Registry

/// What the sidecar is told.
public struct SidecarConfiguration: Sendable {
  /// `host:port` or `unix:/path`.
  public var address: String
  public var originPolicy = OriginPolicy()
  /// Settings that the storage lacks; empty when redis is configured.
  public var missingRedisVariables: [String] = []
  /// Settings that sending lacks; empty when APNs is configured.
  public var missingAPNsVariables: [String] = []
  /// Sends at once within one `/api/push/test`.
  public var sendConcurrency = 4
  /// Reported by the push API. The lookups themselves are one command.
  public var lookupConcurrency = 8
  /// No API key is asked for by `/newtoken` and `/newpush`.
  public var isPushServerOpen = false
  /// A backup.json that is imported on a `/newtoken` or `/newpush` for an app that has no devices, once for the whole fleet.
  public var backupPath: String?
  /// The app of registrations that name none.
  public var bundleID: String?
  /// The gateway of registrations that name none.
  public var defaultEnvironment = PushEnvironment.production
  /// The gateway that is written down of tokens the push API registers. Nil when nobody has said which it is: whoever sends
  /// takes its own default.
  public var registrationEnvironment: PushEnvironment?
  /// Failed authentications of a client address for a name. Nil, here and below: no limit.
  public var failureLimit: WindowLimit?
  /// Whose word is taken for where a request comes from.
  public var trustedProxies = TrustedProxies()
  /// Registrations of a user or an instance.
  public var registrationLimit: WindowLimit?
  /// Test pushes of a user.
  public var testLimit: WindowLimit?
  /// `/newtoken` and `/newpush` of an API key; of a client address where no key is asked for.
  public var broadcastLimit: WindowLimit?
  /// Where `/newpush` puts its job.
  public var queue = "push:jobs"

  public init(address: String) {
    self.address = address
  }
}
