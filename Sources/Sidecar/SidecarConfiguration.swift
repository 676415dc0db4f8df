public import Credentials
public import HTTPServer
public import PushModel

/// Who may use the gorush API: nobody, those with an API key of the scope `jobs`, everyone.
public enum GorushAccess: String, Sendable, CaseIterable { case off, key, open }

/// The settings of a sidecar.
public struct SidecarConfiguration: Sendable {
  public var listener: HTTPServerConfiguration
  public var originPolicy = OriginPolicy()
  /// The settings of Redis that are missing; empty if Redis is configured.
  public var missingRedisVariables: [String] = []
  /// The settings of APNs that are missing; empty if APNs is configured.
  public var missingAPNsVariables: [String] = []
  /// The number of pushes in flight at once in one `/api/push/test`.
  public var sendConcurrency = 4
  /// Reported by the push API. The lookups themselves are one command.
  public var lookupConcurrency = 8
  /// Whether `/newtoken` and `/newpush` require no API key.
  public var isBroadcastOpen = false
  /// A backup file that is imported on a `/newtoken` or `/newpush` for an app without devices, once for all sidecars.
  public var backupPath: String?
  /// The app of registrations that do not name one.
  public var bundleID: String?
  /// The APNs environment in which devices are tried first whose own is unknown.
  public var defaultEnvironment = PushEnvironment.production
  /// Failed authentications of a client address for a name. Nil means no limit, here and below.
  public var failureLimit: WindowLimit?
  /// Registrations of a user or an instance.
  public var registrationLimit: WindowLimit?
  /// Test pushes of a user.
  public var testLimit: WindowLimit?
  /// Requests to `/newtoken` and `/newpush` with an API key, or of a client address if no key is required.
  public var broadcastLimit: WindowLimit?
  /// The apps of the Matrix push gateway. Nil: it is not served.
  public var matrixApps: MatrixApps?
  /// Notifications of Matrix homeservers with one address: a large one has thousands of users.
  public var notificationLimit: WindowLimit? = WindowLimit(30_000, per: .seconds(60))
  /// Notifications of Matrix homeservers for one device.
  public var deviceNotificationLimit: WindowLimit? = WindowLimit(300, per: .seconds(60))
  /// Who may use the gorush API.
  public var gorush = GorushAccess.off
  /// The version of the program, for clients of the gorush API.
  public var version = ""
  /// The queue of the jobs that are enqueued.
  public var queue = "push:jobs"

  public init(listener: HTTPServerConfiguration) {
    self.listener = listener
  }
}
