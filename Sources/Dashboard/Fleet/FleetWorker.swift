import Operations
import Queue

/// A worker, and the jobs that it has in flight.
struct FleetWorker: Sendable, Equatable {
  let name: String
  /// Nil if its heartbeat has expired: the fleet takes its jobs back.
  var report: WorkerReport?
  /// The number of its jobs in flight, for each queue that it has jobs of.
  var inFlight: [InFlight] = []

  struct InFlight: Sendable, Equatable {
    let queue: String
    let jobs: Int64
  }

  var jobsInFlight: Int64 { inFlight.reduce(0) { $0 + $1.jobs } }

  /// The host and the process of `<host>-<pid>-<random>`; nil for another form.
  var process: (host: String, pid: String)? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[parts.count - 2].allSatisfy(\.isNumber) else { return nil }
    return (parts.dropLast(2).joined(separator: "-"), String(parts[parts.count - 2]))
  }
}

extension FleetWorker {
  /// The workers of queues, sorted by name.
  static func all(_ overviews: [QueueOverview]) -> [FleetWorker] {
    let reports = overviews.workers
    var workers: [String: FleetWorker] = [:]
    for overview in overviews {
      for (name, jobs) in overview.jobsInFlight {
        var worker = workers[name] ?? FleetWorker(name: name, report: reports[name])
        if jobs > 0 { worker.inFlight.append(InFlight(queue: overview.queue, jobs: jobs)) }
        workers[name] = worker
      }
    }
    return workers.values.sorted { $0.name < $1.name }
  }
}
