import PushModel
import Queue
import APNs
import EventLoop
import HTTPServer
import JSON
import Jobs
import Redis

/// Makes the worker's report about itself, the value of its heartbeat, and says whether it can do its work.
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
    report.connectionEnd = context.clients?.latestConnectionEnd
    report.memory = context.memory.report
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

  /// The answer of `/readyz`, whether the worker can do its work and what prevents it, with a line end:
  /// `{"ready":false,"redis":"unreachable","apns":"ok","stopping":false,"pausedRoutes":[…],"refusedKeys":[…]}`;
  /// `refusedKeys` only if there are any, `redisReason` only if Redis cannot be reached or did not run a command for its user, and
  /// `memory` only if it is short of memory.
  ///
  /// An outage of APNs does not make a worker unready: another worker would not reach APNs either, and its jobs stay in
  /// Redis. Neither do paused routes, because pushes of other routes are sent, nor refused keys, because another one
  /// signs.
  func readiness(isStopping: Bool) -> HTTPResponse {
    let clients = context.clients
    let lease = context.queue.lease.mayClaim ? "ok" : "heartbeats not confirmed"
    let redis = context.connection.isReady ? lease : "unreachable"
    let isReady = redis == "ok" && !isStopping
    let refusedKeys = clients?.refusedKeys ?? []
    let memory = context.memory.report
    let object: JSONObject = [
      "ready": isReady, "redis": redis, "apns": clients.map { $0.isServing ? "ok" : "unreachable" } ?? "not configured",
      "stopping": isStopping, "pausedRoutes": (clients?.pausedRoutes ?? []).map(\.object),
      "redisReason": context.connection.failure ?? context.connection.instruments?.missingRight,
      "memory": memory.flatMap { $0.stage == .ample ? nil : $0.summary },
      "refusedKeys": refusedKeys.isEmpty ? nil : refusedKeys.map(WorkerReporter.object),
    ]
    return .json(Array(object.line.utf8), status: isReady ? 200 : 503)
  }

  private static func object(_ key: KeyNotice) -> JSONObject {
    ["teamId": key.teamID, "keyId": key.keyID, "signs": key.signs, "since": key.since]
  }
}
