public import EventLoop
public import Redis

/// The dead letters of a queue: read in pages, requeued and purged one by one, each in one atomic step.
@EventLoop
public struct DeadLetters {
  private static let pageSize = 200

  /// Takes a letter out and its job to the back of the queue, or nowhere.
  /// KEYS dead, queue; ARGV letter, element (empty: purge). 0: somebody else was first.
  private static let take = RedisScript(
    """
    if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
    if ARGV[2] ~= '' then redis.call('LPUSH', KEYS[2], ARGV[2]) end
    return 1
    """)

  public struct Entry: Sendable {
    public let letter: DeadLetter
    /// As they stand in Redis.
    public let bytes: [UInt8]
  }

  public let keys: QueueKeys
  private let connection: RedisConnection

  public init(queue: String, connection: RedisConnection) {
    keys = QueueKeys(queue: queue)
    self.connection = connection
  }

  /// What the caller did with a letter.
  public enum Step: Sendable {
    case kept, removed, stop
  }

  /// Calls `body` for each letter, newest first.
  public func forEach(_ body: @EventLoop (Entry) async throws -> Step) async throws {
    var start = 0
    while true {
      let end = start + DeadLetters.pageSize - 1
      let page = try await connection.send(RedisCommand("ZRANGE", keys.dead, "\(start)", "\(end)", "REV"))
      let members = (page.array ?? []).compactMap(\.bytes)
      for bytes in members {
        // What is no dead letter was put there by somebody else, and stays.
        guard let letter = DeadLetter(bytes: bytes) else {
          start += 1
          continue
        }
        switch try await body(Entry(letter: letter, bytes: bytes)) {
        case .kept: start += 1
        case .removed: break
        case .stop: return
        }
      }
      guard members.count == DeadLetters.pageSize else { return }
    }
  }

  /// Runs the job again, behind those that wait. False: somebody else was first.
  public func requeue(_ entry: Entry) async throws(RedisError) -> Bool {
    try await take(entry.bytes, queueing: entry.letter.requeued)
  }

  /// Drops the letter for good. False: somebody else was first.
  public func purge(_ entry: Entry) async throws(RedisError) -> Bool {
    try await take(entry.bytes, queueing: [])
  }

  private func take(_ bytes: [UInt8], queueing element: [UInt8]) async throws(RedisError) -> Bool {
    let answer = try await connection.call(DeadLetters.take, keys: [keys.dead, keys.queue]) { command in
      command.append(bytes)
      command.append(element)
    }
    return answer.integer == 1
  }
}
