import Jobs
public import PushModel

/// What the fleet knows of a Live Activity: the value of `push:activity:<id>`.
public struct ActivityState: Sendable, Equatable {
  /// Users with a state of their own, at most. The one that is older than all others leaves.
  static let maximumUsers = 100
  /// Devices that a start was sent to, at most.
  public static let maximumStarts = 1000
  /// How long a state is kept after its last change, in ms: an activity is shown for 12 hours at most.
  static let lifetime: Int64 = 12 * 3600 * 1000
  /// Updates in ``budgetTime`` after which APNs may leave some out: one in three seconds.
  static let budget = 20
  /// Unix seconds.
  static let budgetTime: Int64 = 60

  /// The newest state for all devices, or for those of one user.
  public struct Newest: Sendable, Equatable {
    public enum Phase: String, Sendable {
      /// The job is in a worker's hands, or is to be retried.
      case open
      /// The activity has no update token. The job is scheduled.
      case waiting
      /// The job has ended.
      case settled
    }

    /// The job that brought the state.
    public let jobID: String
    public let nonce: String
    public let queue: String
    public let isEnd: Bool
    public let order: ActivityOrder
    /// The timestamp that is sent, in unix seconds. Later than those of all states before.
    public let timestamp: Int64
    public let payload: [UInt8]
    public let priority: Int
    /// Unix milliseconds; nil if the state does not expire.
    public let expiresAt: Int64?
    public var phase = Phase.open
    /// When the phase began, in unix ms.
    public var since: Int64
    /// ``ActivityState/key(ofToken:)`` of the tokens for which APNs accepted the state, and the keys of their phones.
    public var reached: Set<String> = []
    /// Of the tokens to which other jobs than the state's own are sending it.
    var promises: [String: Promise] = [:]
    /// Of an end: the job of the state before, which may have pushes in flight. One that arrived after the end would be shown.
    var predecessor: Promise?
  }

  struct Promise: Sendable, Equatable {
    /// Of the job that is sending.
    let nonce: String
    /// Unix milliseconds.
    let at: Int64
  }

  /// The first start of the activity.
  struct Start: Sendable, Equatable {
    let jobID: String
    let order: ActivityOrder
    /// The name of the channel that updates the activity; nil if it gets tokens.
    var channel: String?
  }

  public var all: Newest?
  public var users: [String: Newest] = [:]
  var firstStart: Start?
  /// The latest timestamp of a start, in unix seconds.
  var startedAt: Int64 = 0
  /// The nonce of the job that has started the activity on a device.
  public var starts: [String: String] = [:]
  /// Unix seconds of the updates in ``budgetTime``.
  var updates: [Int64] = []

  public init() {}

  /// The state that the devices of a user should show; nil stands for devices without an owner.
  public func newest(for user: String?) -> Newest? {
    guard let own = user.flatMap({ users[$0] }) else { return all }
    guard let all else { return own }
    return own.order > all.order ? own : all
  }

  /// Identifies a token in the state: a digest, shorter than a token.
  public static func key(ofToken token: DeviceToken) -> String { apnsID(jobID: "", token: token.text) }

  /// Identifies a device in ``starts``: its phone, if the app names it.
  public static func key(ofToken token: DeviceToken, phone: String?) -> String {
    phone.map { "phone:" + $0 } ?? key(ofToken: token)
  }
}
