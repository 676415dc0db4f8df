public import JSON

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
  public var pausedRoutes: [RouteReport] = []
  /// Routes whose tokens are not removed, because too many are refused. Pushes are sent.
  public var stoppedRemovals: [RouteReport] = []
  /// Apps that APNs answers slowly.
  public var slowApps: [SlowAppReport] = []
  /// An operator has asked that it claims nothing more.
  public var isDraining = false

  public init(startedAt: Int64, jobs: Int64, jobsPerSecond: Double, outstanding: Int, inFlight: Int, concurrency: Int) {
    self.startedAt = startedAt
    self.jobs = jobs
    self.jobsPerSecond = jobsPerSecond
    self.outstanding = outstanding
    self.inFlight = inFlight
    self.concurrency = concurrency
  }

  /// Returns nil if `bytes` is not a report.
  public init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes), let startedAt = value["startedAt"]?.integer else { return nil }
    let rate: Double =
      switch value["jobsPerSecond"] {
      case .number(let number): number
      case .integer(let integer): Double(integer)
      default: 0
      }
    func integer(_ key: String) -> Int64 { value[key]?.integer ?? 0 }
    self.init(
      startedAt: startedAt, jobs: integer("jobs"), jobsPerSecond: rate,
      outstanding: Int(clamping: integer("outstanding")), inFlight: Int(clamping: integer("inFlight")),
      concurrency: Int(clamping: integer("concurrency")))
    pausedRoutes = RouteReport.list(value["pausedRoutes"])
    stoppedRemovals = RouteReport.list(value["stoppedRemovals"])
    slowApps = SlowAppReport.list(value["slowApps"])
    isDraining = value["draining"]?.bool ?? false
  }

  public func json() -> [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  public func write(to writer: inout JSONWriter, name: String? = nil) {
    writer.beginObject()
    if let name {
      writer.key("name")
      writer.string(name)
    }
    writer.key("startedAt")
    writer.integer(startedAt)
    writer.key("jobs")
    writer.integer(jobs)
    writer.key("jobsPerSecond")
    writer.number((jobsPerSecond * 10).rounded() / 10)
    writer.key("outstanding")
    writer.integer(Int64(outstanding))
    writer.key("inFlight")
    writer.integer(Int64(inFlight))
    writer.key("concurrency")
    writer.integer(Int64(concurrency))
    if !pausedRoutes.isEmpty { RouteReport.write(pausedRoutes, key: "pausedRoutes", to: &writer) }
    if !stoppedRemovals.isEmpty { RouteReport.write(stoppedRemovals, key: "stoppedRemovals", to: &writer) }
    if !slowApps.isEmpty { SlowAppReport.write(slowApps, to: &writer) }
    if isDraining {
      writer.key("draining")
      writer.bool(true)
    }
    writer.endObject()
  }
}
