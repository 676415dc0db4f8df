import EventLoop
import Events
import Jobs
import Queue
import Redis

/// What the overview is made of.
struct FleetState: Sendable {
  struct QueueState: Sendable {
    var overview: QueueOverview
    var oldest: OldestWaiting

    /// Milliseconds that the oldest job waits; nil if that is not known.
    func age(now: Int64) -> Int64? {
      guard case .job(let since?) = oldest else { return nil }
      return max(0, now - since)
    }
  }

  /// A route as the workers report it.
  struct Route: Sendable, Equatable {
    var report: RouteReport
    /// The number of workers that report it.
    var workers: Int
  }

  var queues: [QueueState] = []
  /// By name.
  var workers: [String: WorkerReport] = [:]
  /// The minutes of the last hour, the earliest first.
  var minutes: [CounterBucket] = []
  /// The hours of the last three days.
  var hours: [CounterBucket] = []
  var servers: [ServerInfo] = []
  /// Nil if nothing was ever sent to a webhook.
  var webhook: WebhookState?

  var waiting: Int64 { queues.reduce(0) { $0 + $1.overview.waiting } }
  var inFlight: Int64 { queues.reduce(0) { $0 + $1.overview.inFlight } }
  var dead: Int64 { queues.reduce(0) { $0 + $1.overview.dead } }
  var later: Int64 { queues.reduce(0) { $0 + $1.overview.retry + $1.overview.scheduled } }
  var lastHour: CounterBucket { CounterBucket.sum(minutes) }
  var jobsPerSecond: Double { workers.values.reduce(0) { $0 + $1.jobsPerSecond } }

  /// How long the fleet needs for the jobs that wait or are in flight, in seconds; at most an hour. Nil without workers.
  var drainSeconds: Double? {
    guard !workers.isEmpty else { return nil }
    return DrainTime.seconds(jobs: waiting + inFlight, rates: workers.values.map(DrainTime.rate))
  }

  var pausedRoutes: [Route] { FleetState.merged(workers.values.flatMap(\.pausedRoutes)) }
  var stoppedRemovals: [Route] { FleetState.merged(workers.values.flatMap(\.stoppedRemovals)) }
  var slowApps: [String] { Set(workers.values.flatMap(\.slowApps).map(\.app)).sorted() }

  /// The apps, as all workers together report them.
  var apps: [FleetApp] { FleetApp.merged(workers.sorted { $0.key < $1.key }.map(\.value)) }

  /// The gateways of all apps, those with the most connections first.
  var gateways: [FleetApp.Gateway] {
    var gateways: [[String]: FleetApp.Gateway] = [:]
    for gateway in apps.flatMap(\.gateways) {
      let key = [gateway.environment, gateway.url]
      var sum = gateways[key] ?? FleetApp.Gateway(environment: gateway.environment, url: gateway.url)
      sum.connections += gateway.connections
      sum.unreachable += gateway.unreachable
      sum.workers += gateway.workers
      gateways[key] = sum
    }
    return gateways.values.sorted {
      ($1.connections, $0.url, $0.environment) < ($0.connections, $1.url, $1.environment)
    }
  }

  /// Returns each route once, the one with the longest trouble first.
  private static func merged(_ reports: [RouteReport]) -> [Route] {
    var routes: [[String]: Route] = [:]
    for report in reports {
      let key = [report.environment, report.topic, report.reason]
      var route = routes[key] ?? Route(report: report, workers: 0)
      route.workers += 1
      route.report.since = min(route.report.since, report.since)
      routes[key] = route
    }
    return routes.values.sorted { ($0.report.since, $0.report.topic) < ($1.report.since, $1.report.topic) }
  }
}

extension FleetState {
  private static let minutesShown = 60
  private static let hoursShown = 72

  /// Reads everything.
  @EventLoop
  static func read(_ queues: [String], from connection: RedisClient) async throws(RedisError) -> FleetState {
    var state = FleetState()
    for queue in queues {
      let overview = try await QueueOverview.read(queue, from: connection)
      let oldest = try await oldest(queue, from: connection)
      state.workers.merge(overview.workers) { first, _ in first }
      state.queues.append(QueueState(overview: overview, oldest: oldest))
    }
    state.minutes = try await CounterHistory.read(last: .minutes(minutesShown), connection: connection)
    state.hours = try await CounterHistory.read(last: .hours(hoursShown), connection: connection)
    state.webhook = try await WebhookState.read(from: connection)
    // INFO is the first command that a hosted Redis refuses. The other numbers do not need it.
    do { state.servers = try await ServerInfo.read(connection) } catch  where error.isRefusal { state.servers = [] }
    return state
  }

  /// A key of another type counts as empty, as in ``QueueOverview``.
  @EventLoop
  private static func oldest(_ queue: String, from connection: RedisClient) async throws(RedisError) -> OldestWaiting {
    do {
      return try await OldestWaiting.read(queue, from: connection, waitingSince: waitingSince)
    } catch  where error.isWrongType {
      return .none
    }
  }

  /// Returns when a job was enqueued, if its producer says so.
  private static func waitingSince(_ job: [UInt8]) -> Int64? {
    (try? Job(parsing: job))?.waitingSince(now: Clock.unixMilliseconds)
  }
}
