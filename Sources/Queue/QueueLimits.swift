/// The numbers of the queue's state machine.
public enum QueueLimits {
  /// Jobs a claim brings at most: the in-flight list stays short, the exchange stays cheap.
  public static let claimBatch = 128
  /// Bytes after which one script claims, adopts or hands back no more.
  static let claimBytes = 4 * 1024 * 1024
  /// Elements a claiming script holds at once: how large they are is known only then.
  static let claimChunk = 4
  /// Bytes of a job that was buried for its size which leave Redis: enough for its id.
  static let buriedBeginning = 1024
  /// The longest element that Redis takes, and room for what stands around it.
  static let largestReply = 513 * 1024 * 1024
  /// How long burying a large job may take that has left Redis already.
  static let buryDeadline = Duration.seconds(60)
  /// Jobs one acknowledging script ends at most.
  static let acknowledgeBatch = 256
  /// How long BLMOVE and BRPOP wait in Redis, in seconds.
  static let blockSeconds = 5
  /// When a blocked connection counts as dead.
  static let blockDeadline = Duration.seconds(7)
  /// A worker without a heartbeat this long is dead.
  public static let heartbeatTimeToLive = Duration.seconds(15)
  /// How long a worker that was taken for dead may sleep and still learn of it.
  static let tombstoneTimeToLive = Duration.seconds(7 * 24 * 3600)
  public static let heartbeatInterval = Duration.seconds(5)
  /// Without a confirmed heartbeat for this long nothing is sent: the jobs may be somebody else's by now.
  static let leaseFreshness = Duration.seconds(11)
  /// How often the keeper looks for due and orphaned jobs, and the others for a lost keeper.
  static let promoteInterval = Duration.milliseconds(250)
  static let keeperWatchInterval = Duration.seconds(1)
  static let reapInterval = Duration.seconds(2)
  static let keeperTimeToLive = Duration.seconds(4)
  /// Jobs one promoting or reaping script moves at most.
  static let moveBatch = 200
  /// Workers that may die with a job in their hands before it is buried.
  public static let maximumCrashes = 3
  /// Dead letters kept per queue; beyond it the oldest go.
  public static let maximumDeadLetters = 100_000
  /// Pause after an exchange with Redis failed.
  static let faultPause = Duration.milliseconds(200)
  /// How long permits are let gather before a claim for fewer than ``claimBatch``.
  static let gatherDelay = Duration.milliseconds(2)
}
