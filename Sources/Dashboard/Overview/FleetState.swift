import EventLoop
import Events
import Jobs
import Operations
import PushModel
import Queue
import Redis

/// What the overview is made of.
struct FleetState: Sendable {
  var queues: [QueueOverview] = []
  /// By name.
  var workers: [String: WorkerReport] = [:] {
    didSet { apps = FleetApp.merged(workers.sorted { $0.key < $1.key }.map(\.value)) }
  }
  /// The apps, as all workers together report them.
  private(set) var apps: [FleetApp] = []
  /// The minutes of the last hour, the earliest first.
  var minutes: [CounterBucket] = []
  /// The hours of the last three days.
  var hours: [CounterBucket] = []
  var servers: [ServerInfo] = []
  /// Of parts.
  var partFindings: [Finding] = []

  var waiting: Int64 { queues.reduce(0) { $0 + $1.waiting } }
  var inFlight: Int64 { queues.reduce(0) { $0 + $1.inFlight } }
  var dead: Int64 { queues.reduce(0) { $0 + $1.dead } }
  var later: Int64 { queues.reduce(0) { $0 + $1.retry + $1.scheduled } }
  var lastHour: CounterBucket { CounterBucket.sum(minutes) }
  var jobsPerSecond: Double { workers.values.jobsPerSecond }

  /// How long the fleet needs for the jobs that wait or are in flight, in seconds; at most an hour. Nil without workers.
  var drainSeconds: Double? {
    guard !workers.isEmpty else { return nil }
    return DrainTime.seconds(jobs: waiting + inFlight, rates: workers.values.map(DrainTime.rate))
  }

  var pausedRoutes: [FleetRoute] { FleetRoute.paused(workers.values) }
  var stoppedRemovals: [FleetRoute] { FleetRoute.stoppedRemovals(workers.values) }
  var slowApps: [String] { SlowAppReport.sums(workers.values).map(\.app).sorted() }

  /// The gateways of all apps, those with the most connections first.
  var gateways: [FleetApp.Gateway] {
    var gateways: [[String]: FleetApp.Gateway] = [:]
    for gateway in apps.flatMap(\.gateways) {
      let key = [gateway.environment.rawValue, gateway.url]
      var sum = gateways[key] ?? FleetApp.Gateway(environment: gateway.environment, url: gateway.url)
      sum.connections += gateway.connections
      sum.unreachable += gateway.unreachable
      sum.workers += gateway.workers
      gateways[key] = sum
    }
    return gateways.values.sorted {
      ($1.connections, $0.url, $0.environment.rawValue) < ($0.connections, $1.url, $1.environment.rawValue)
    }
  }
}

extension FleetState {
  private static let minutesShown = 60
  private static let hoursShown = 72

  /// Reads everything.
  @EventLoop
  static func read(
    _ queues: [String], _ statuses: DashboardConfiguration.StatusReader?, from connection: RedisClient
  ) async throws(RedisError) -> FleetState {
    var state = FleetState()
    state.queues = try await QueueOverview.readWithAges(queues, from: connection)
    state.workers = state.queues.workers
    state.minutes = try await CounterHistory.read(last: .minutes(minutesShown), connection: connection)
    state.hours = try await CounterHistory.read(last: .hours(hoursShown), connection: connection)
    if let statuses { state.partFindings = try await statuses(connection).compactMap(\.finding) }
    // INFO is the first command that a hosted Redis refuses. The other numbers do not need it.
    do { state.servers = try await ServerInfo.read(connection) } catch  where error.isRefusal { state.servers = [] }
    return state
  }
}

extension FleetState {
  private static let highMemory = 0.9
  /// Milliseconds.
  private static let longWait: Int64 = 60_000
  /// Refused pushes of the last hour that are worth a look, and their share.
  private static let manyRefusals = 20
  private static let highRefusalShare = 0.05

  /// Everything that is not as it should be, the most serious first. Empty if all is well.
  func findings(now: Int64) -> [Finding] {
    let all =
      redisFindings + workerFindings + connectionFindings + routeFindings(now) + pauseFindings(now)
      + backlogFindings(now) + refusalFindings + deadFindings + partFindings
    return all.bySeverity
  }

  private var redisFindings: [Finding] {
    var findings: [Finding] = []
    let memory = MemoryReport.worst(workers.values.compactMap(\.memory))
    if let memory, memory.stage != .ample {
      findings.append(
        Finding(
          memory.stage == .full ? .problem : .warning, "Redis is short of memory: \(memory.summary).",
          since: memory.since, fix: MemoryReport.fix))
    }
    for server in servers {
      if memory?.stage ?? .ample == .ample, let share = server.memoryShare, share >= FleetState.highMemory {
        findings.append(
          Finding(
            .problem, "Redis uses \(Int(share * 100)) % of the memory that it may use.",
            fix: "raise maxmemory, or find out which program fills it: no job can be added when it is full"))
      }
      if let policy = server.memoryPolicy, policy != "noeviction", (server.maximumMemory ?? 0) > 0 {
        findings.append(
          Finding(
            .problem, "Redis may delete jobs: its maxmemory-policy is \(policy).",
            fix: "set maxmemory-policy noeviction"))
      }
      if server.isAppendOnly == true, server.hasFailedWrite {
        findings.append(
          Finding(
            .problem, "Redis cannot write its append-only file.", fix: "look at its log and at its disk"))
      }
    }
    return findings
  }

  private var workerFindings: [Finding] {
    guard workers.isEmpty else { return [] }
    let jobs = waiting + inFlight
    return [
      Finding(
        jobs > 0 ? .problem : .warning,
        jobs > 0
          ? "No worker is running: \(NumberText.count(jobs, "job")) \(jobs == 1 ? "waits" : "wait")."
          : "No worker is running.",
        fix: "start martlet worker; if it does not start, run martlet doctor and look at its log")
    ]
  }

  private var connectionFindings: [Finding] {
    apps.flatMap { app in
      let keys = app.keys.filter { $0.state == .refused }.map { key in
        Finding(
          app.keys.contains { $0.state == .signs } ? .warning : .problem,
          "APNs refuses the key \(key.id) of \(app.name).",
          fix: "check its key id and team id, and whether it was revoked; martlet doctor tries it")
      }
      let gateways = app.gateways.filter { $0.unreachable > 0 }.map { gateway in
        Finding(
          gateway.unreachable < gateway.workers ? .warning : .problem,
          "\(gateway.unreachable) of \(NumberText.count(gateway.workers, "worker")) cannot reach "
            + "\(gateway.url) for \(app.name).",
          fix: "run martlet doctor on the machine of a worker: it connects and names the cause")
      }
      return keys + gateways
    }
  }

  private func routeFindings(_ now: Int64) -> [Finding] {
    let paused = pausedRoutes.map { route in
      let notice = route.notice
      return Finding(
        .problem,
        "APNs refuses all pushes to \(notice.topic) (\(notice.environment.rawValue)) with \(notice.reason) since "
          + "\(TimeText.duration(now - notice.since)). Their jobs are kept, and one push a minute is tried.",
        fix: route.fix)
    }
    let stopped = stoppedRemovals.map { route in
      Finding(
        .warning,
        "Most tokens of \(route.notice.topic) (\(route.notice.environment.rawValue)) look invalid "
          + "(\(route.notice.reason)), so none is removed. Pushes are sent.",
        fix: route.fix)
    }
    let slow = slowApps.map { app in
      Finding(
        .warning, "APNs answers pushes of \(app) slowly. The other apps keep their share.",
        fix: "wait; if it lasts, look at the network and at Apple's system status")
    }
    return paused + stopped + slow
  }

  private func pauseFindings(_ now: Int64) -> [Finding] {
    let paused = queues.compactMap { queue in
      queue.pause.map { pause in
        let by = pause.by.isEmpty ? "" : " by \(pause.by)"
        let reason = pause.reason.isEmpty ? "" : ": \(pause.reason)"
        return Finding(
          .warning,
          "\(queue.queue) was paused\(by) \(TimeText.relative(pause.since, now: now))\(reason). "
            + "\(NumberText.count(queue.waiting, "job")) \(queue.waiting == 1 ? "waits" : "wait").",
          fix: "resume it on its page, or with martlet queue resume \(queue.queue)")
      }
    }
    guard !workers.isEmpty, workers.values.allSatisfy(\.isDraining) else { return paused }
    return [
      Finding(
        .problem, "Every worker is draining or drained, so no job is claimed.",
        fix: "undrain a worker on the page Workers, or start another one")
    ] + paused
  }

  private func backlogFindings(_ now: Int64) -> [Finding] {
    guard !workers.isEmpty else { return [] }
    return queues.compactMap { queue in
      // A paused queue has its own finding.
      guard queue.pause == nil, let age = queue.age(now: now), age >= FleetState.longWait else { return nil }
      let rate = NumberText.short(jobsPerSecond)
      return Finding(
        .warning,
        "The oldest job of \(queue.queue) waits for \(TimeText.duration(age)); "
          + "\(NumberText.count(queue.waiting, "job")) wait and the fleet ends \(rate) a second.",
        fix: "start more workers, or find out why these are slow: paused routes, a slow APNs, or MARTLET_CONCURRENCY")
    }
  }

  private var refusalFindings: [Finding] {
    let hour = lastHour
    let unusual = hour.refusals.filter { !PushReason.of($0.key).isUsual }
    let count = unusual.values.reduce(0, +)
    let all = max(1, hour.accepted + hour.failed)
    guard count >= FleetState.manyRefusals, Double(count) / Double(all) >= FleetState.highRefusalShare,
      let top = unusual.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })
    else { return [] }
    return [
      Finding(
        .warning,
        "APNs refused \(NumberText.count(count, "push", "pushes")) in the last hour, most of them with "
          + "\(top.key).",
        fix: PushReason.of(top.key).meaning ?? "look at the records of these jobs, and at Apple's list of reasons")
    ]
  }

  private var deadFindings: [Finding] {
    let count = lastHour.jobs[.dead] ?? 0
    guard count > 0 else { return [] }
    return [
      Finding(
        .warning,
        count == 1
          ? "1 job became a dead letter in the last hour."
          : "\(NumberText.count(count, "job")) became dead letters in the last hour.",
        fix: "look at their reasons under Dead letters; requeue them when the cause is removed")
    ]
  }
}
