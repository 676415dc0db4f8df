public import EventLoop
public import JSON
public import Redis

/// The lengths of a queue's lists, and its workers.
public struct QueueOverview: Sendable, Equatable {
  public var queue: String
  public var waiting: Int64
  public var inFlight: Int64
  public var retry: Int64
  public var scheduled: Int64
  public var dead: Int64
  /// Nil unless an operator has paused the queue.
  public var pause: QueuePause?
  /// The reports of the living workers, by name.
  public var workers: [String: WorkerReport]

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("queue")
    writer.string(queue)
    for (name, value) in [
      ("waiting", waiting), ("inFlight", inFlight), ("retry", retry), ("scheduled", scheduled), ("dead", dead),
    ] {
      writer.key(name)
      writer.integer(value)
    }
    if let pause {
      writer.key("paused")
      pause.write(to: &writer)
    }
    writer.endObject()
  }
}

@EventLoop
extension QueueOverview {
  /// Reads the overview, in two exchanges. A key of another type counts as empty.
  public static func read(_ queue: String, from connection: RedisClient) async throws(RedisError) -> QueueOverview {
    let keys = QueueKeys(queue: queue)
    let first = await connection.exchange([
      RedisCommand("LLEN", keys.queue), RedisCommand("ZCARD", keys.retry), RedisCommand("ZCARD", keys.scheduled),
      RedisCommand("ZCARD", keys.dead), RedisCommand("SMEMBERS", keys.workers),
      RedisCommand("GET", keys.control),
    ])
    var overview = QueueOverview(
      queue: queue, waiting: try count(first[0]), inFlight: 0, retry: try count(first[1]),
      scheduled: try count(first[2]), dead: try count(first[3]), workers: [:])
    overview.pause = try first[5].get().contents.flatMap(ControlState.init(bytes:))?.pause
    let members = try first[4].get().array ?? []
    let workers = members.compactMap(\.string)
    let second = await connection.exchange(
      workers.flatMap { [RedisCommand("LLEN", keys.inflight($0)), RedisCommand("GET", keys.heartbeat($0))] })
    for (index, worker) in workers.enumerated() {
      overview.inFlight += try count(second[2 * index])
      let report = try second[2 * index + 1].get().contents
      if let report { overview.workers[worker] = WorkerReport(json: report) }
    }
    return overview
  }

  private static func count(_ reply: Result<RedisValue, RedisError>) throws(RedisError) -> Int64 {
    do {
      return try reply.get().integer ?? 0
    } catch .reply(let error) where error.code == "WRONGTYPE" {
      return 0
    }
  }
}
