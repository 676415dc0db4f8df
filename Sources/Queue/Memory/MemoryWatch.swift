public import EventLoop
public import Redis
public import Telemetry

/// Watches how much memory Redis uses, and says what a worker may write beside the jobs: how long the records of accepted jobs live,
/// and what is left out before Redis is full.
///
/// What Redis uses is asked with each heartbeat, and every second while it is more than half of what Redis may use; nothing is asked on
/// the path of a job.
@EventLoop
public final class MemoryWatch {
  private static let interval = Duration.seconds(1)
  private static let calmShare = 0.5

  private let connection: RedisClient
  private let counters: FleetCounters
  private let records: RecordMemory
  private let log: Log
  private let sweep: RecordSweep
  private let isElected: @EventLoop () -> Bool
  private let omissions: Counter
  private var timer: LoopTimer?
  private var lookedAt = Clock.monotonicNanoseconds
  private var isAsking = false
  private var isRefused = false
  /// In the order of the servers; empty until they have answered.
  private var servers: [ServerMemory] = []
  private var stages: [MemoryStage] = []
  private var since: Int64?
  private var lastShort: Int64?
  private var leftOut: Int64 = 0

  /// How long the record of an accepted job lives.
  public private(set) var lifetime: Duration
  /// How long any other record lives.
  public let longestLifetime: Duration
  /// What was last read of the fullest server.
  private var readStage = MemoryStage.ample
  private var room = RecordRoom()

  /// How much may be written now.
  public private(set) var stage = MemoryStage.ample

  /// - Parameter isElected: whether this worker is the one of the fleet that makes room.
  public init(
    connection: RedisClient, counters: FleetCounters, records: RecordMemory, timeToLive: Duration, metrics: Metrics,
    log: Log, isElected: @escaping @EventLoop () -> Bool
  ) {
    self.connection = connection
    self.counters = counters
    self.records = records
    self.log = log
    self.isElected = isElected
    sweep = RecordSweep(connection: connection, log: log)
    lifetime = timeToLive
    longestLifetime = timeToLive
    omissions = metrics.counter(
      "martlet_records_left_out_total",
      help: "records not written because Redis was [short of memory](operations.md#when-redis-is-short-of-memory)",
      worry: "it grows: raise `maxmemory`")
    metrics.gauge(
      "martlet_redis_memory_used_bytes",
      help: "what the fullest server of Redis uses",
      worry: "it nears the maximum"
    ) {
      [weak self] in Double(self?.fullest?.used ?? 0)
    }
    metrics.gauge(
      "martlet_redis_memory_maximum_bytes",
      help: "the `maxmemory` of that server; 0 without one",
      worry: "it is 0"
    ) {
      [weak self] in Double(self?.fullest?.maximum ?? 0)
    }
    metrics.gauge(
      "martlet_record_lifetime_seconds",
      help: "how long the record of an accepted job lives at present",
      worry: "it is shorter than you need: raise `MARTLET_RECORD_MEMORY` or `maxmemory`"
    ) {
      [weak self] in Double((self?.lifetime.milliseconds ?? 0) / 1000)
    }
  }

  public func start() {
    timer = .every(MemoryWatch.interval) { [weak self] in self?.look() }
  }

  public func stop() {
    timer = nil
    sweep.stop()
  }

  /// Returns when nothing is removed any more. Call it after ``stop()``.
  public func close() async { await sweep.close() }

  /// What is known for operators; nil before Redis has told.
  public var report: MemoryReport? {
    fullest.map { server in
      var report = MemoryReport(stage: readStage, server: server, lifetime: lifetime, longestLifetime: longestLifetime)
      (report.since, report.lastShort, report.leftOut) = (since, lastShort, leftOut)
      return report
    }
  }

  private var fullest: ServerMemory? { servers.max { ($0.share, $0.used) < ($1.share, $1.used) } }

  // MARK: - Records

  /// Whether the record of an accepted job is left out, which is then counted.
  public func leavesOutAccepted(_ jobID: String) -> Bool {
    guard stage != .ample, stage(ofRecord: jobID) != .ample else { return false }
    countLeftOut()
    return true
  }

  /// Whether a record that no settlement makes room for is left out, which is then counted.
  public func leavesOutOther() -> Bool {
    guard stage == .full else { return false }
    countLeftOut()
    return true
  }

  /// A record is written. `bytes`: those of its text and its job's id.
  public func wroteRecord(_ bytes: Int, isAccepted: Bool) {
    let bytes = bytes + RecordSize.overhead
    if isAccepted { counters.recorded(bytes) }
    add(bytes)
  }

  /// These are written beside a job.
  public func wrote(_ notifications: [Settlement.Notification]) {
    for notification in notifications { add(notification.json.count * notification.readers.count) }
  }

  private func add(_ bytes: Int) {
    guard room.take(bytes) else { return }
    stage = room.stage(from: readStage)
    if readStage == .ample, room.isWorthAsking { ask() }
  }

  private func countLeftOut() {
    leftOut += 1
    omissions.increment()
  }

  private func stage(ofRecord jobID: String) -> MemoryStage {
    guard stages.count > 1, stage == readStage else { return stage }
    let place = connection.server(of: QueueKeys.result(jobID))
    return place.flatMap { stages.indices.contains($0) ? stages[$0] : nil } ?? stage
  }

  /// Returns a settlement without what is not written while Redis is full: everything but the job, and a record that takes no more than the job frees
  /// or replaces one. `element` is what the job frees; `replaces`: there is a record of an earlier attempt.
  public func trimmed(_ settlement: Settlement, element: [UInt8], replaces: Bool) -> Settlement {
    var settlement = settlement
    settlement.notifications = []
    settlement.events = []
    guard let record = settlement.record, !replaces else { return settlement }
    if case .acknowledge = settlement.exit, record.json.count + RecordSize.overhead <= element.count {
      return settlement
    }
    settlement.record = nil
    settlement.replyTo = nil
    countLeftOut()
    return settlement
  }

  // MARK: - Looking

  private func look() {
    let now = Clock.monotonicNanoseconds
    let seconds = Double(now &- lookedAt) / 1e9
    lookedAt = now
    update(counters.recordRate(after: seconds))
    if servers.contains(where: { $0.share >= MemoryWatch.calmShare }) { ask() }
  }

  /// Asks what Redis uses, unless that is going on. With each heartbeat, so that a worker knows before it settles its first job.
  public func ask() {
    guard connection.isReady, !isAsking else { return }
    isAsking = true
    room.beginReading()
    EventLoop.start { [weak self] in
      await self?.read()
      self?.isAsking = false
    }
  }

  /// On a cluster the records are spread over the servers, and so each has its part of the rate.
  private func update(_ rate: RecordRate.PerSecond) {
    let budgets = servers.compactMap { records.budget(of: $0) }
    guard let least = budgets.min(), budgets.count == servers.count else { return lifetime = longestLifetime }
    lifetime = AffordableLifetime.affordable(least * Double(servers.count), rate, atMost: longestLifetime)
  }

  private func read() async {
    var found: [ServerMemory] = []
    for server in 0..<connection.serverCount {
      do throws(RedisError) {
        guard let memory = ServerMemory(try await connection.info(ofServer: server, section: "memory")) else { return }
        found.append(memory)
      } catch {
        return warnOfFailure(error)
      }
    }
    isRefused = false
    take(found)
  }

  /// A lost connection logs itself.
  private func warnOfFailure(_ error: RedisError) {
    guard error.isRefusal, !isRefused else { return }
    isRefused = true
    // Operator: Allow `INFO` to the worker's user of Redis.
    log.warn(
      "Redis does not tell how much memory it uses: records live for MARTLET_RESULT_TTL, also if they fill it",
      ["error": .init("\(error)"), "fix": "allow INFO"])
  }

  private func take(_ found: [ServerMemory]) {
    if stages.count != found.count { stages = found.map { _ in .ample } }
    servers = found
    for (place, server) in found.enumerated() { stages[place] = stages[place].next(server.share) }
    let next = stages.max() ?? .ample
    let now = Clock.unixMilliseconds
    if next != .ample { lastShort = now }
    if next != readStage { enter(next, at: now) }
    room.endReading(fullest, servers: found.count, share: counters.shareOfRecords)
    stage = room.stage(from: next)
    guard next != .ample, isElected() else { return }
    sweep.start(servers: stages.indices.filter { stages[$0] != .ample })
  }

  private func enter(_ next: MemoryStage, at now: Int64) {
    let isWorse = next > readStage
    readStage = next
    since = now
    counters.isSuspended = next == .full
    let summary = report?.summary ?? ""
    if isWorse {
      // Operator: See `memory` and `fix`: [When Redis is short of
      // memory](operations.md#when-redis-is-short-of-memory). `Redis has more room again` ends it.
      log.warn("Redis is short of memory", ["memory": .init(summary), "fix": .init(MemoryReport.fix)])
    } else {
      log.info("Redis has more room again", ["memory": .init(summary)])
    }
  }
}
