import PushModel
import Queue
import APNs
import EventLoop
import HTTPServer
import JSON
import Jobs

/// Makes the worker's report about itself, the value of its heartbeat.
@EventLoop
final class WorkerReporter {
  private let context: PipelineContext
  private let removed: RemovalTally
  private let startedAt = Clock.unixMilliseconds
  private var lastCount: UInt64 = 0
  private var lastAt = Clock.monotonicNanoseconds
  private var rate = 0.0

  /// A rate is measured over at least this long, in nanoseconds.
  private static let window = 1_000_000_000 as UInt64

  init(_ context: PipelineContext, _ removed: RemovalTally) {
    self.context = context
    self.removed = removed
  }

  /// Measures the rate and returns JSON of ``WorkerReport``.
  func makeReport() -> [UInt8] {
    let jobCount = context.observer.jobCount
    let now = Clock.monotonicNanoseconds
    if now - lastAt >= WorkerReporter.window {
      rate = Double(jobCount - lastCount) * 1e9 / Double(now - lastAt)
      lastCount = jobCount
      lastAt = now
    }
    var report = WorkerReport(
      startedAt: startedAt, jobs: Int64(jobCount), jobsPerSecond: rate, outstanding: context.queue.outstanding,
      inFlight: context.permits.taken, concurrency: context.permits.limit)
    report.pausedRoutes = context.clients?.pausedRoutes ?? []
    report.stoppedRemovals = context.clients?.stoppedRemovals ?? []
    report.slowApps = context.window.lanes.slowApps
    report.version = context.configuration.version
    report.redisMicroseconds = context.queue.lease.roundTrip.map { $0.nanoseconds / 1000 }
    report.removedTokens = removed.total
    report.apps = apps
    report.appStates = appStates
    report.routes = context.clients?.routesInUse ?? []
    report.isDraining = context.queue.isDraining
    return report.json()
  }

  private var appStates: [AppState] {
    guard let clients = context.clients else { return [] }
    let configuration = context.configuration
    let states = clients.states
    let named = Set(states.flatMap(\.bundleIDs))
    var inFlight: [String: Int] = [:]
    for lane in context.window.lanes.all {
      inFlight[named.contains(lane.name) ? lane.name : AppState.otherApps, default: 0] += lane.app.inFlight
    }
    return states.map { state in
      var state = state
      state.inFlight = inFlight[state.name] ?? 0
      state.removedTokens = state.servesOthers ? removed.count(except: named) : removed.count(of: state.bundleIDs)
      state.environment = state.environment ?? configuration.defaultEnvironment
      if state.servesOthers { state.bundleIDs = [configuration.bundleID].compactMap { $0 } }
      return state
    }
  }

  private var apps: AppsReport {
    let configuration = context.configuration
    let bundleIDs = context.clients?.bundleIDs(atMost: AppsReport.maximumListed + 1) ?? []
    return AppsReport(
      bundleIDs: Array(bundleIDs.prefix(AppsReport.maximumListed)),
      isComplete: bundleIDs.count <= AppsReport.maximumListed, servesOthers: context.clients?.servesOthers ?? false,
      defaultApp: configuration.bundleID, defaultEnvironment: configuration.defaultEnvironment.rawValue)
  }
}

/// Whether a worker can do its work, and what prevents it.
struct Readiness: Equatable {
  enum Redis: String {
    /// The lease of the worker is confirmed for every queue.
    case confirmed = "ok"
    case unreachable
    /// Redis answers, and the worker may not claim jobs.
    case unconfirmed = "heartbeats not confirmed"
  }

  enum Gateway: String {
    /// At least one connection.
    case connected = "ok"
    case unreachable
    /// Polling-only mode.
    case notConfigured = "not configured"
  }

  var redis: Redis
  var apns: Gateway
  var isStopping: Bool
  /// They do not make a worker unready: pushes of other routes are sent.
  var pausedRoutes: [RouteNotice] = []
  /// They do not make a worker unready: another key of the team signs.
  var refusedKeys: [KeyNotice] = []

  /// An outage of APNs does not make a worker unready: another worker would not reach APNs either, and its jobs stay in Redis.
  var isReady: Bool { redis == .confirmed && !isStopping }

  /// `{"ready":false,"redis":"unreachable","apns":"ok","stopping":false,"pausedRoutes":[…],"refusedKeys":[…]}` and a line end;
  /// `refusedKeys` only if there are any.
  var json: String {
    let object: JSONObject = [
      "ready": isReady, "redis": redis.rawValue, "apns": apns.rawValue, "stopping": isStopping,
      "pausedRoutes": pausedRoutes.map(\.object),
      "refusedKeys": refusedKeys.isEmpty ? nil : refusedKeys.map(Readiness.object),
    ]
    return object.line
  }

  var response: HTTPResponse { .json(Array(json.utf8), status: isReady ? 200 : 503) }

  private static func object(_ key: KeyNotice) -> JSONObject {
    ["teamId": key.teamID, "keyId": key.keyID, "signs": key.signs, "since": key.since]
  }
}
