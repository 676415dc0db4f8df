public import JSON
public import PushModel

/// The state that a worker publishes, as the value of its heartbeat.
public struct WorkerReport: Sendable, Equatable {
  /// Unix ms.
  public var startedAt: Int64
  /// Attempts that have ended since ``startedAt``.
  public var jobs: Int64
  public var jobsPerSecond: Double
  public var outstanding: Int
  public var inFlight: Int
  public var concurrency: Int
  /// Routes that get one push a minute to find out whether APNs accepts it; their jobs are kept.
  public var pausedRoutes: [RouteNotice] = []
  /// Routes whose tokens are not removed, because too many are refused. Pushes are sent.
  public var stoppedRemovals: [RouteNotice] = []
  /// Apps that APNs answers slowly.
  public var slowApps: [SlowAppReport] = []
  /// An operator has asked that it claims nothing more.
  public var isDraining = false
  /// The version of the program; empty if the worker does not tell.
  public var version = ""
  /// How long Redis took to answer the last heartbeats; nil before the first answer.
  public var redisMicroseconds: Int64?
  /// Tokens that APNs reported as stale and that were removed since ``startedAt``.
  public var removedTokens: Int64 = 0
  /// The apps that the worker pushes to; nil in the reports of older workers.
  public var apps: AppsReport?
  /// How the pushes of the apps reach APNs; empty in polling-only mode.
  public var appStates: [AppState] = []
  /// The routes with an accepted push, the latest first.
  public var routes: [RouteState] = []

  /// The last end of a connection to APNs that says something about a gateway; nil without one.
  public var connectionEnd: ConnectionEndNotice?
  /// The memory of Redis; nil if it is not known.
  public var memory: MemoryReport?

  /// The bytes of a report, at most: a heartbeat writes it for every queue. Entries that do not fit are left out.
  static let maximumBytes = 8 * 1024

  public init(startedAt: Int64, jobs: Int64, jobsPerSecond: Double, outstanding: Int, inFlight: Int, concurrency: Int) {
    self.startedAt = startedAt
    self.jobs = jobs
    self.jobsPerSecond = jobsPerSecond
    self.outstanding = outstanding
    self.inFlight = inFlight
    self.concurrency = concurrency
  }

  /// Reads the numbers that every report has. Returns nil if `value` is not a report.
  package init?(numbers value: JSONValue) {
    guard let startedAt = value["startedAt"]?.time else { return nil }
    self.init(
      startedAt: startedAt, jobs: Int64(value["jobs"]?.count ?? 0),
      jobsPerSecond: value["jobsPerSecond"]?.rate ?? 0,
      outstanding: value["outstanding"].present ?? 0, inFlight: value["inFlight"].present ?? 0,
      concurrency: value["concurrency"].present ?? 0)
  }

  /// What the numbers of a fleet's reports may be, so that sums of many of them fit.
  static let numbers: ClosedRange<Int64> = 0...1 << 32

  /// Returns the report in at most ``maximumBytes``.
  public func json() -> [UInt8] {
    var report = self
    while true {
      let bytes = report.object.bytes
      guard bytes.count > WorkerReport.maximumBytes, report.removeHalf() else { return bytes }
    }
  }

  /// Removes the last half of the longest list. Returns false if there is nothing to remove.
  private mutating func removeHalf() -> Bool {
    let longest = max(appStates.count, routes.count, pausedRoutes.count, stoppedRemovals.count, slowApps.count)
    func half(_ count: Int) -> Int { (count + 1) / 2 }
    switch longest {
    case 0: return false
    case routes.count: routes.removeLast(half(longest))
    case appStates.count: appStates.removeLast(half(longest))
    case slowApps.count: slowApps.removeLast(half(longest))
    case stoppedRemovals.count: stoppedRemovals.removeLast(half(longest))
    default: pausedRoutes.removeLast(half(longest))
    }
    return true
  }

  /// Lists and marks that are empty are left out.
  public var object: JSONObject {
    func list<Entry>(_ entries: [Entry], _ object: (Entry) -> JSONObject) -> [JSONObject]? {
      entries.isEmpty ? nil : entries.map(object)
    }
    let rate = (jobsPerSecond * 10).rounded() / 10
    return [
      "startedAt": startedAt, "jobs": jobs, "jobsPerSecond": rate, "outstanding": outstanding, "inFlight": inFlight,
      "concurrency": concurrency,
      "pausedRoutes": list(pausedRoutes, \.object), "stoppedRemovals": list(stoppedRemovals, \.object),
      "slowApps": list(slowApps, \.object), "version": version.isEmpty ? nil : version,
      "redisMicroseconds": redisMicroseconds, "removedTokens": removedTokens, "appStates": list(appStates, \.object),
      "routes": list(routes, \.object), "apps": apps?.object,
      "connectionEnd": connectionEnd?.object, "memory": memory?.object, "draining": isDraining ? true : nil,
    ]
  }
}

extension JSONValue? {
  /// A number of a report, limited so that sums of many fit; nil for any other value.
  package var present: Int? { self?.integer(in: WorkerReport.numbers).map { Int($0) } }
}
