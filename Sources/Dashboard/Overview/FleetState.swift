import EventLoop
import Events
import Jobs
import PushModel
import Operations
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
  /// Nil if nothing was ever sent to a webhook.
  var webhook: WebhookState?

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
  static func read(_ queues: [String], from connection: RedisClient) async throws(RedisError) -> FleetState {
    var state = FleetState()
    state.queues = try await QueueOverview.readWithAges(queues, from: connection)
    state.workers = state.queues.workers
    state.minutes = try await CounterHistory.read(last: .minutes(minutesShown), connection: connection)
    state.hours = try await CounterHistory.read(last: .hours(hoursShown), connection: connection)
    state.webhook = try await WebhookState.read(from: connection)
    // INFO is the first command that a hosted Redis refuses. The other numbers do not need it.
    do { state.servers = try await ServerInfo.read(connection) } catch  where error.isRefusal { state.servers = [] }
    return state
  }
}
