import TestSupport
/// The faults that a run injects. The raw value is the name in the table.
enum FaultKind: String, CaseIterable, Sendable {
  case workerKilled = "worker killed (SIGKILL)"
  case workerStopped = "worker stopped (SIGTERM)"
  case workerFrozen = "worker frozen beyond its lease"
  case clockJump = "clock of a worker jumps"
  case redisKilled = "Redis killed and restarted"
  case redisFull = "Redis full"
  case redisSlow = "Redis slow (DEBUG SLEEP)"
  case redisPaused = "Redis paused (CLIENT PAUSE)"
  case redisFailover = "Redis failed over by sentinel"
  case scriptsFlushed = "scripts flushed"
  case clientsKilled = "clients killed (CLIENT KILL)"
  case redisCut = "connections to Redis cut"
  case redisHalfOpen = "connections to Redis half-open"
  case redisLatency = "200 ms to Redis"
  case goAway = "APNs GOAWAY"
  case goAwayAbrupt = "APNs GOAWAY, pushes unanswered"
  case streamsReset = "APNs RST_STREAM"
  case stall = "APNs does not answer"
  case drop = "APNs closes the connection"
  case slow = "APNs slow"
  case tooManyRequests = "APNs 429"
  case unavailable = "APNs 503"
  case expiredToken = "APNs 403 ExpiredProviderToken"
  case badConnection = "a connection to APNs goes bad"
  case apnsCut = "connections to APNs cut"
  case apnsHalfOpen = "connections to APNs half-open"
  case apnsLatency = "200 ms to APNs"
  case primaryFailover = "primary of a cluster killed, its replica takes over"
  case plannedFailover = "planned failover (CLUSTER FAILOVER)"
  case queueMoved = "slot of a queue moved to another primary"
  case devicesMoved = "slots of users and devices moved at once"
  case environmentChanged = "devices change their environment"

  /// Those of runs with sentinels. A plan depends on their number and order.
  static let ofSentinels = allCases.filter { !onlyOfCluster.contains($0) && !onlyByName.contains($0) }
  /// Those of runs on a cluster. Its servers announce their own addresses, so no proxy is between them and the workers.
  static let ofCluster = allCases.filter {
    $0 != .redisFailover && $0.target != .workersRedis && !onlyByName.contains($0)
  }
  /// Those that only `--only` asks for: others would change the plans of published seeds.
  static let onlyByName: [FaultKind] = [.environmentChanged, .badConnection]
  private static let onlyOfCluster: [FaultKind] = [.primaryFailover, .plannedFailover, .queueMoved, .devicesMoved]

  enum Target {
    case worker, workersRedis, workersAPNs, redis, gateway, devices
  }

  var target: Target {
    switch self {
    case .workerKilled, .workerStopped, .workerFrozen, .clockJump: .worker
    case .redisCut, .redisHalfOpen, .redisLatency: .workersRedis
    case .apnsCut, .apnsHalfOpen, .apnsLatency: .workersAPNs
    case .redisKilled, .redisFull, .redisSlow, .redisPaused, .redisFailover, .scriptsFlushed, .clientsKilled: .redis
    case .primaryFailover, .plannedFailover, .queueMoved, .devicesMoved: .redis
    case .environmentChanged: .devices
    case .goAway, .goAwayAbrupt, .streamsReset, .stall, .drop, .slow, .tooManyRequests, .unavailable, .expiredToken,
      .badConnection:
      .gateway
    }
  }

  /// The time that the fault lasts, in milliseconds. 0...0 for one that is over at once.
  var milliseconds: ClosedRange<Int> {
    switch self {
    case .workerKilled, .workerStopped, .redisKilled, .scriptsFlushed, .clientsKilled, .redisFailover: 0...0
    case .primaryFailover, .plannedFailover, .environmentChanged: 0...0
    case .goAway, .goAwayAbrupt, .streamsReset, .stall, .drop, .tooManyRequests, .unavailable, .expiredToken,
      .badConnection:
      0...0
    // The lease lasts 15 s.
    case .workerFrozen: 17_000...22_000
    case .clockJump: 2_000...8_000
    case .redisFull, .redisPaused, .slow: 1_000...3_000
    case .redisSlow: 300...1_500
    case .redisCut, .apnsCut: 0...1_500
    // A command is given up after 5 s, a push after 20 s.
    case .redisHalfOpen: 3_000...9_000
    case .apnsHalfOpen: 3_000...12_000
    case .redisLatency, .apnsLatency: 1_500...4_000
    // While the keys of a slot are at two servers. A command is given up after 5 s.
    case .queueMoved, .devicesMoved: 200...6_000
    }
  }

  /// What a connection that has gone bad answers to every push.
  static let badAnswers = [
    (500, "InternalServerError"), (503, "ServiceUnavailable"), (429, "TooManyProviderTokenUpdates"),
    (403, "BadEnvironmentKeyIdInToken"), (400, "TopicDisallowed"),
  ]

  /// The number of pushes that the gateway treats so, the seconds by which a clock jumps, which slots move, or the number of
  /// devices, chosen by the plan.
  func amount(using generator: inout SeededGenerator) -> Int {
    switch self {
    case .clockJump: FaultKind.jumps.randomElement(using: &generator) ?? 0
    case .tooManyRequests, .unavailable: Int.random(in: 5...60, using: &generator)
    case .streamsReset, .goAwayAbrupt: Int.random(in: 1...12, using: &generator)
    case .goAway, .stall, .drop: Int.random(in: 1...4, using: &generator)
    case .environmentChanged: Int.random(in: 1...6, using: &generator)
    case .badConnection: Int.random(in: 0..<FaultKind.badAnswers.count, using: &generator)
    case .queueMoved, .devicesMoved: Int.random(in: 0..<1000, using: &generator)
    default: 1
    }
  }

  /// Seconds ahead; the clock goes back when the fault ends. Never behind the machine's clock: libfaketime moves the
  /// process' monotonic timers by the same time, so that they would fire late for as long. The simulator accepts
  /// provider tokens from up to 5 minutes ahead. A jump further ahead pauses the worker's routes until the next probe.
  private static let jumps = [5, 30, 60, 240, 1200]
}
