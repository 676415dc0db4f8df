public import EventLoop
public import JSON
public import Redis

/// The lengths of a queue's lists, and its workers.
public struct QueueOverview: Sendable, Equatable {
  public var queue: String
  public var waiting: Int64
  /// Jobs in flight by the names of their workers, also of those without a heartbeat.
  public var jobsInFlight: [String: Int64] = [:]
  public var retry: Int64
  public var scheduled: Int64
  public var dead: Int64
  /// Nil unless an operator has paused the queue.
  public var pause: QueuePause?
  /// The reports of the living workers, by name.
  public var workers: [String: WorkerReport]

  public var inFlight: Int64 { jobsInFlight.values.reduce(0, +) }

  public var object: JSONObject {
    [
      "queue": queue, "waiting": waiting, "inFlight": inFlight, "retry": retry, "scheduled": scheduled, "dead": dead,
      "paused": pause,
    ]
  }
}

@EventLoop
extension QueueOverview {
  /// Reads the overview, in two exchanges. A key of another type counts as empty. Throws if a length is not a number.
  public static func read(_ queue: String, from connection: RedisClient) async throws(RedisError) -> QueueOverview {
    try await read([queue], from: connection)[0]
  }

  /// Reads the overviews of queues, in their order, in two exchanges. A key of another type counts as empty. Throws if a
  /// length is not a number.
  public static func read(_ queues: [String], from connection: RedisClient) async throws(RedisError) -> [QueueOverview]
  {
    let keys = queues.map(QueueKeys.init(queue:))
    let commands = keys.map { keys in
      [
        RedisCommand("LLEN", keys.queue), RedisCommand("ZCARD", keys.retry), RedisCommand("ZCARD", keys.scheduled),
        RedisCommand("ZCARD", keys.dead), keys.namesOfWorkers, RedisCommand("GET", keys.control),
      ]
    }
    var answers = await connection.exchange(commands.flatMap(\.self))[...]
    var overviews: [QueueOverview] = []
    var members: [(keys: QueueKeys, names: [String])] = []
    for (keys, commands) in zip(keys, commands) {
      var values: [RedisValue] = []
      for answer in answers.prefix(commands.count) { values.append(try answer.absentIfWrongType()) }
      answers = answers.dropFirst(commands.count)
      overviews.append(try QueueOverview(keys.queue, values))
      members.append((keys, (values[4].array ?? []).compactMap(\.string)))
    }
    let inflight = members.flatMap { keys, names in names.map { RedisCommand("LLEN", keys.inflight($0)) } }
    let (lengths, reports) = try await HeartbeatReader(connection: connection).read(members, with: inflight)
    var rest = lengths[...]
    for (index, (_, names)) in members.enumerated() {
      for (name, length) in zip(names, rest) {
        overviews[index].jobsInFlight[name] = try QueueOverview.length(
          length.absentIfWrongType(), overviews[index].queue)
      }
      rest = rest.dropFirst(names.count)
      for name in names { overviews[index].workers[name] = reports[name] }
    }
    return overviews
  }

  /// `values` are the replies to the first commands, in their order.
  private init(_ queue: String, _ values: [RedisValue]) throws(RedisError) {
    self.init(
      queue: queue, waiting: try QueueOverview.length(values[0], queue),
      retry: try QueueOverview.length(values[1], queue), scheduled: try QueueOverview.length(values[2], queue),
      dead: try QueueOverview.length(values[3], queue),
      pause: values[5].contents.flatMap(ControlState.init(bytes:))?.pause, workers: [:])
  }
}

extension QueueOverview {
  /// Returns the length that Redis replied with; 0 for no reply.
  private static func length(_ reply: RedisValue, _ queue: String) throws(RedisError) -> Int64 {
    if reply.isNull { return 0 }
    guard let count = reply.count else {
      throw .outcomeUnknown("the numbers of \(queue) cannot be read: Redis sent an unexpected reply")
    }
    return Int64(count)
  }
}

extension Sequence<WorkerReport> {
  /// Jobs that these workers end in a second.
  public var jobsPerSecond: Double { reduce(0) { $0 + $1.jobsPerSecond } }
}

extension [QueueOverview] {
  /// The reports of the living workers of all queues, by name.
  public var workers: [String: WorkerReport] {
    reduce(into: [:]) { $0.merge($1.workers) { first, _ in first } }
  }
}
