import EventLoop
import Operations
import Queue
import Redis

/// A worker, and the jobs that it has in flight.
struct FleetWorker: Sendable, Equatable {
  let name: String
  /// Nil if its heartbeat has expired: the fleet takes its jobs back.
  var report: WorkerReport?
  /// The number of its jobs in flight, for each queue that it has jobs of.
  var held: [Held] = []

  struct Held: Sendable, Equatable {
    let queue: String
    let jobs: Int64
  }

  var jobsInFlight: Int64 { held.reduce(0) { $0 + $1.jobs } }

  /// The host and the process of `<host>-<pid>-<random>`; nil for another form.
  var process: (host: String, pid: String)? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[parts.count - 2].allSatisfy(\.isNumber) else { return nil }
    return (parts.dropLast(2).joined(separator: "-"), String(parts[parts.count - 2]))
  }
}

extension FleetWorker {
  /// Reads the workers of all queues, sorted by name.
  @EventLoop
  static func all(of queues: [String], from connection: RedisClient) async throws(RedisError) -> [FleetWorker] {
    let keys = queues.map(QueueKeys.init(queue:))
    let members = try await connection.replies(to: keys.map(\.namesOfWorkers))
    let pairs = zip(keys, members).flatMap { keys, names in
      (names.array ?? []).compactMap(\.string).map { (keys: keys, name: $0) }
    }
    let lengths = try await connection.replies(to: pairs.map { RedisCommand("LLEN", $0.keys.inflight($0.name)) })
    let reports = try await WorkerReport.read(of: queues, from: connection)
    var workers: [String: FleetWorker] = [:]
    for (pair, length) in zip(pairs, lengths) {
      var worker = workers[pair.name] ?? FleetWorker(name: pair.name, report: reports[pair.name])
      if let jobs = length.integer, jobs > 0 { worker.held.append(Held(queue: pair.keys.queue, jobs: jobs)) }
      workers[pair.name] = worker
    }
    return workers.values.sorted { $0.name < $1.name }
  }
}
