import EventLoop
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

  /// Reads the overview. A key of another type counts as empty.
  @EventLoop
  public static func read(_ queue: String, from connection: RedisClient) async throws(RedisError) -> QueueOverview {
    let keys = QueueKeys(queue: queue)
    func count(_ command: RedisCommand) async throws(RedisError) -> Int64 {
      do {
        return try await connection.send(command).integer ?? 0
      } catch .reply(let error) where error.code == "WRONGTYPE" {
        return 0
      }
    }
    var overview = QueueOverview(
      queue: queue, waiting: try await count(RedisCommand("LLEN", keys.queue)), inFlight: 0,
      retry: try await count(RedisCommand("ZCARD", keys.retry)),
      scheduled: try await count(RedisCommand("ZCARD", keys.scheduled)),
      dead: try await count(RedisCommand("ZCARD", keys.dead)), workers: [:])
    overview.pause = try await QueueControl(queue: queue, connection: connection).state()?.pause
    let members = try await connection.send(RedisCommand("SMEMBERS", keys.workers)).array ?? []
    for worker in members.compactMap(\.string) {
      overview.inFlight += try await count(RedisCommand("LLEN", keys.inflight(worker)))
      let report = try await connection.send(RedisCommand("GET", keys.heartbeat(worker))).contents
      if let report { overview.workers[worker] = WorkerReport(json: report) }
    }
    return overview
  }

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
