import EventLoop
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
    let names = members.map { ($0.array ?? []).compactMap(\.string) }
    var commands: [RedisCommand] = []
    for (keys, names) in zip(keys, names) {
      for name in names {
        commands.append(RedisCommand("GET", keys.heartbeat(name)))
        commands.append(RedisCommand("LLEN", keys.inflight(name)))
      }
    }
    let replies = try await connection.replies(to: commands)
    return merged(queues, names, replies)
  }

  /// `replies` are those to GET and LLEN of each name of each queue.
  private static func merged(_ queues: [String], _ names: [[String]], _ replies: [RedisValue]) -> [FleetWorker] {
    var workers: [String: FleetWorker] = [:]
    var position = 0
    for (queue, names) in zip(queues, names) {
      for name in names {
        var worker = workers[name] ?? FleetWorker(name: name)
        // A worker that serves several queues has the same report in each.
        worker.report = worker.report ?? replies[position].contents.flatMap(WorkerReport.init(json:))
        let jobs = replies[position + 1].integer ?? 0
        if jobs > 0 { worker.held.append(Held(queue: queue, jobs: jobs)) }
        workers[name] = worker
        position += 2
      }
    }
    return workers.values.sorted { $0.name < $1.name }
  }
}
