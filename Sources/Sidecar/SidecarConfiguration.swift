public import Credentials
import EventLoop
public import HTTPServer
public import PushModel

/// The settings of a sidecar.
public struct SidecarConfiguration: Sendable {
  public static let defaultSendConcurrency = 4
  public static let defaultLookupConcurrency = 8

  public var listener: HTTPServerConfiguration
  public var originPolicy = OriginPolicy()
  /// The settings of Redis that are missing; empty if Redis is configured.
  public var missingRedisVariables: [String] = []
  /// The settings of APNs that are missing; empty if APNs is configured.
  public var missingAPNsVariables: [String] = []
  /// The number of pushes in flight at once in one `/api/push/test`.
  public var sendConcurrency = SidecarConfiguration.defaultSendConcurrency
  /// Reported by the push API. The lookups themselves are one command.
  public var lookupConcurrency = SidecarConfiguration.defaultLookupConcurrency
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
  /// Notifications of other servers with one address: a large one has thousands of users.
  public var notificationLimit: WindowLimit? = WindowLimit(30_000, per: .seconds(60))
  /// Notifications of other servers for one device.
  public var deviceNotificationLimit: WindowLimit? = WindowLimit(300, per: .seconds(60))
  /// The version of the program.
  public var version = ""
  /// The queue of the jobs that are enqueued.
  public var queue = "push:jobs"

  /// Whether events are written to `push:events`.
  public var writesEvents = false
  /// Makes further APIs.
  package var apis: [@EventLoop @Sendable (APIContext) -> any HTTPAPI] = []
  /// The settings that let anybody do something without a credential, and what.
  public var openDoors: [OpenDoor] = []

  /// What a setting lets anybody do who reaches the sidecar.
  public struct OpenDoor: Sendable {
    public let setting: String
    /// As in "lets anybody push to any token".
    public let harm: String

    public init(_ setting: String, _ harm: String) {
      self.setting = setting
      self.harm = harm
    }
  }

  public init(listener: HTTPServerConfiguration) {
    self.listener = listener
  }
}
