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
    /// Of the attempt that has it.
    public var turn = AttemptTurn()
    public let queue: String
    public let isEnd: Bool
    /// Whether it is for everyone who has registered a token of the activity.
    public let isShared: Bool
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
    /// ``ActivityDevice/token`` and ``ActivityDevice/phone`` of those for which APNs accepted the state.
    public var reached: Set<String> = []
    /// Of the tokens to which other jobs than the state's own are sending it.
    var promises: [String: Promise] = [:]
    /// Of an end: the jobs that may have pushes of the state before in flight. One that arrived after the end would be shown.
    var predecessors: [Promise] = []
  }

  struct Promise: Sendable, Equatable {
    /// Of the job that is sending, and of its attempt.
    let nonce: String
    let turn: AttemptTurn
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
  /// The nonce of the job that has started the activity on a phone, by ``ActivityDevice/phone``.
  public var starts: [String: String] = [:]
  /// Of the jobs in ``starts``, the attempts that are not first ones, by the nonce.
  var startTurns: [String: AttemptTurn] = [:]
  /// The users for whom a start was sent: the states of the activity are theirs.
  public var members: Set<String> = []
  /// Of ``starts``, those by an earlier version, which kept no ``members``: `phone:` with the id, or the digest of a token.
  var formerStarts: Set<String> = []
  /// Unix seconds of the updates in ``budgetTime``.
  var updates: [Int64] = []

  public init() {}

  /// The state that a device should show; nil if there is none that is for its user.
  public func newest(for device: ActivityDevice) -> Newest? {
    let isForDevice = all.map { audience(of: $0, user: nil).includes(device) } ?? false
    return ActivityState.newest(of: isForDevice ? all : nil, device.user.flatMap { users[$0] })
  }

  /// Whether the activity is known to be that of the device's user: a start was sent, or a job has named the user.
  public func isFor(_ device: ActivityDevice) -> Bool {
    ActivityAudience.users(members.union(users.keys), formerStarts: formerStarts).includes(device)
  }

  static func newest(of all: Newest?, _ own: Newest?) -> Newest? {
    guard let all, let own else { return all ?? own }
    return own.order > all.order ? own : all
  }

  /// Whose a state is. `user`: the one whom its job names; nil for none.
  func audience(of newest: Newest, user: String?) -> ActivityAudience {
    if newest.isShared { return .everyone }
    return user.map { .users([$0], formerStarts: []) } ?? .users(members, formerStarts: formerStarts)
  }
}
