import JSON

/// The limits, timeouts and intervals of a queue.
public enum QueueLimits {
  // MARK: Claims

  /// Jobs that one script claims at most: an in-flight list stays short, as LREM searches it.
  public static let claimBatch = 192
  /// Bytes after which one script claims, adopts or hands back no more jobs.
  static let claimBytes = 4 * 1024 * 1024
  /// Elements that a claiming script takes at once: their size is known only then.
  static let claimChunk = 8
  /// Seconds that BLMOVE and BRPOP wait in Redis.
  static let blockSeconds = 5
  /// How long a waiting connection may go without an answer before it counts as lost.
  static let blockDeadline = Duration.seconds(7)
  /// How long the fetcher waits for more permits before it claims few jobs.
  static let gatherDelay = Duration.milliseconds(2)
  /// Pause after Redis refused or failed an exchange.
  static let faultPause = Duration.milliseconds(200)

  // MARK: Workers

  /// Workers of a queue whose heartbeats a page, a command or a metric reads.
  static let workersRead = 1000

  // MARK: Large jobs

  /// Bytes that leave Redis of a job which was buried because of its size: enough for its id.
  static let buriedBeginning = 1024
  /// Bytes of the longest element that Redis accepts, and room for what is around it.
  static let largestReply = 513 * 1024 * 1024
  /// How long Redis may take to bury a job that BRPOP has taken.
  static let buryDeadline = Duration.seconds(60)

  // MARK: Settlements

  /// Jobs that one script acknowledges at most.
  static let acknowledgeBatch = 256
  /// Jobs whose end Redis has not confirmed, beyond those that hold permits: with more, nothing is claimed.
  static let maximumUnsettled = 4096
  /// Jobs that are written to the in-flight list again by one command, after Redis has lost its data.
  static let restoreBatch = 1000
  /// Dead letters of a queue at most; beyond it the oldest are deleted.
  public static let maximumDeadLetters = 100_000

  // MARK: Notification records

  /// Records of a user or an instance that are kept, approximately.
  static let maximumNotifications = 1000

  // MARK: Leases

  public static let heartbeatInterval = Duration.seconds(5)
  /// A worker without a heartbeat for this long is dead.
  public static let heartbeatTimeToLive = Duration.seconds(15)
  /// Without a confirmed heartbeat for this long nothing is sent: the jobs may belong to other workers.
  static let leaseFreshness = Duration.seconds(11)
  /// How long a worker may be frozen and still learn that it was taken for dead.
  static let tombstoneTimeToLive = Duration.seconds(7 * 24 * 3600)

  // MARK: Control

  /// The score of a paused broadcast among the scheduled jobs, behind every date.
  package static let withoutDate = Timestamp.maximum + 1
  /// Broadcasts of a queue that operators see, at most.
  public static let knownBroadcasts = 1000
  /// How long operators see a broadcast after its last change.
  static let broadcastTimeToLive = Duration.seconds(7 * 24 * 3600)
  /// Cancellations that are read at once.
  static let cancellationBatch = 1000

  // MARK: Promoter and reaper

  /// How often the promoter looks for due jobs, at least.
  static let promoteInterval = Duration.milliseconds(250)
  /// How often the other workers try to become the promoter.
  /// Then they also learn what operators have asked of the queue, so it is less than a second.
  static let electionInterval = Duration.milliseconds(900)
  static let promoterTimeToLive = Duration.seconds(4)
  /// How often the promoter of a queue looks for dead workers.
  static let reapInterval = Duration.seconds(2)
  /// Jobs that one script reaps or hands back at most, or promotes from each sorted set.
  static let moveBatch = 200
  /// Jobs of broadcasts that an earlier version has paused which one script takes over at most: each may be large.
  static let adoptBatch = 50
  /// A job is buried when more workers than this have died while they held it.
  public static let maximumCrashes = 3
}
