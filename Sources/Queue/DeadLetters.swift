import Jobs
public import EventLoop
public import Redis

/// The dead letters of a queue: read in pages, requeued and purged one by one, each in one atomic step.
@EventLoop
public struct DeadLetters {
  private static let pageSize = 200

  /// Bytes of letters that one page looks at, about: it ends behind the letter that exceeds them.
  private static let pageBytes = 4 * 1024 * 1024
  /// Of a longer letter only so much is read: what its first line and its job's beginning need.
  private static let maximumBytes = 1024 * 1024
  private static let beginningBytes = Job.maximumBytes

  /// Reads some letters, newest first. KEYS dead; ARGV rank of the first, most, most bytes looked at, longest letter
  /// that is read whole, bytes of a longer one. Answers [score, length, bytes] of each.
  private static let page = RedisScript(
    """
    local letters, bytes = {}, 0
    for i = 1, tonumber(ARGV[2]) do
      local rank = ARGV[1] + i - 1
      local found = redis.call('ZRANGE', KEYS[1], rank, rank, 'REV', 'WITHSCORES')
      local letter, score = found[1], found[2]
      if not letter then break end
      local length = #letter
      if length > tonumber(ARGV[4]) then letter = string.sub(letter, 1, ARGV[5]) end
      letters[i] = {score, length, letter}
      bytes = bytes + length
      if bytes >= tonumber(ARGV[3]) then break end
    end
    if bytes >= tonumber(ARGV[3]) then collectgarbage() end
    return letters
    """)

  /// Takes a letter out and its job to the back of the queue, or nowhere. KEYS dead, queue, seal; ARGV letter, element
  /// (empty: purge), a seal for a queue that has none. 0: somebody else was first.
  private static let take = RedisScript(
    """
    local found = redis.call('TYPE', KEYS[2]).ok
    if ARGV[2] ~= '' and found ~= 'none' and found ~= 'list' then return redis.call('LLEN', KEYS[2]) end
    if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
    if ARGV[2] ~= '' then
      redis.call('SET', KEYS[3], ARGV[3], 'NX')
      redis.call('LPUSH', KEYS[2], '\(Seal.marker)' .. redis.call('GET', KEYS[3]) .. ' ' .. ARGV[2])
    end
    return 1
    """)

  /// Takes a letter out that is too long to be read whole: known by its score, its length and its beginning. The job
  /// goes as it stands. KEYS dead, queue, seal; ARGV score, length, beginning, `requeue` or `purge`, a seal for a queue
  /// that has none. 0: somebody else was first.
  private static let takeLong = RedisScript(
    """
    local found = redis.call('TYPE', KEYS[2]).ok
    if ARGV[4] == 'requeue' and found ~= 'none' and found ~= 'list' then return redis.call('LLEN', KEYS[2]) end
    local beginning = #ARGV[3]
    for i = 0, redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[1]) - 1 do
      local letter = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1], 'BYSCORE', 'LIMIT', i, 1)[1]
      if #letter == tonumber(ARGV[2]) and string.sub(letter, 1, beginning) == ARGV[3] then
        redis.call('ZREM', KEYS[1], letter)
        if ARGV[4] == 'requeue' then
          redis.call('SET', KEYS[3], ARGV[5], 'NX')
          local element = string.sub(letter, string.find(letter, '\\n', 1, true) + 1)
          redis.call('LPUSH', KEYS[2], '\(Seal.marker)' .. redis.call('GET', KEYS[3]) .. ' ' .. element)
        end
        collectgarbage()
        return 1
      end
    end
    return 0
    """)

  public struct Entry: Sendable {
    public let letter: DeadLetter
    /// As they stand in Redis, or the first of them.
    public let bytes: [UInt8]
    /// Of the whole letter.
    public let length: Int
    /// As Redis writes it.
    let score: String

    /// Bytes of the job that were not read, as it is far too large.
    public var missingBytes: Int { length - bytes.count }
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
      let entries = try await page(from: start)
      for entry in entries {
        // What is no dead letter was put there by somebody else, and stays.
        guard let entry else {
          start += 1
          continue
        }
        switch try await body(entry) {
        case .kept: start += 1
        case .removed: break
        case .stop: return
        }
      }
      guard !entries.isEmpty else { return }
    }
  }

  /// Nil stands for what is no dead letter.
  private func page(from start: Int) async throws(RedisError) -> [Entry?] {
    let answer = try await connection.call(DeadLetters.page, keys: [keys.dead]) { command in
      command.append(start)
      command.append(DeadLetters.pageSize)
      command.append(DeadLetters.pageBytes)
      command.append(DeadLetters.maximumBytes)
      command.append(DeadLetters.beginningBytes)
    }
    return (answer.array ?? []).map { value in
      guard let parts = value.array, parts.count == 3, let score = parts[0].string, let length = parts[1].integer,
        let bytes = parts[2].bytes, let letter = DeadLetter(bytes: bytes)
      else { return nil }
      return Entry(letter: letter, bytes: bytes, length: Int(length), score: score)
    }
  }

  /// Runs the job again, behind those that wait. False: somebody else was first.
  public func requeue(_ entry: Entry) async throws(RedisError) -> Bool {
    try await take(entry, queueing: entry.letter.requeued)
  }

  /// Drops the letter for good. False: somebody else was first.
  public func purge(_ entry: Entry) async throws(RedisError) -> Bool {
    try await take(entry, queueing: [])
  }

  private func take(_ entry: Entry, queueing element: [UInt8]) async throws(RedisError) -> Bool {
    let scriptKeys = [keys.dead, keys.queue, keys.seal]
    let isWhole = entry.missingBytes == 0
    let script = isWhole ? DeadLetters.take : DeadLetters.takeLong
    let answer = try await connection.call(script, keys: scriptKeys) { command in
      if isWhole {
        command.append(entry.bytes)
        command.append(element)
      } else {
        command.append(entry.score)
        command.append(entry.length)
        command.append(entry.bytes)
        command.append(element.isEmpty ? "purge" : "requeue")
      }
      command.append(Seal.random())
    }
    return answer.integer == 1
  }
}
