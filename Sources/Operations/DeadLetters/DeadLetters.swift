import Jobs
public import EventLoop
public import Queue
public import Redis

/// The dead letters of a queue. They are read in pages, and requeued or purged one by one, each in one atomic step.
@EventLoop
public struct DeadLetters {
  private static let pageSize = 200

  /// Bytes of letters in one page. The letter that exceeds them is the last.
  private static let pageBytes = 4 * 1024 * 1024
  /// A longer letter is not read whole.
  static let maximumBytes = 1024 * 1024
  /// Bytes that are read of such a letter: its first line, and the beginning of its job.
  static let beginningBytes = Job.maximumBytes

  /// Reads letters, newest first.
  ///
  /// KEYS
  ///   1  the dead letters
  /// ARGV
  ///   1  the rank of the first, among those of ARGV 6 and of lower scores
  ///   2  letters at most
  ///   3  bytes after which no further letter is read
  ///   4  bytes of a letter that is read whole, at most
  ///   5  bytes that are read of a longer one
  ///   6  a score, or empty for all
  /// Returns {score, length, bytes} of each.
  private static let page = RedisScript(
    """
    local letters, bytes, first = {}, 0, tonumber(ARGV[1])
    if ARGV[6] ~= '' then first = first + redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[6], '+inf') end
    for i = 1, tonumber(ARGV[2]) do
      local rank = first + i - 1
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

  /// Removes a letter, and moves its job to the back of the queue unless it is purged. The job of a letter that was not
  /// read whole stays as it is.
  ///
  /// KEYS
  ///   1  the dead letters
  ///   2  the queue
  ///   3  the seal
  ///   4  the cancelled ids
  /// ARGV
  ///   1  the letter's score
  ///   2  its length in bytes
  ///   3  the letter, or its beginning
  ///   4  the element for the queue; empty to purge
  ///   5  the id: a job that is requeued is not cancelled any more
  ///   6  a seal, for a queue that has none
  /// Returns 1, or 0 if the letter is gone. An error if the queue's key is not a list.
  private static let take = RedisScript(
    """
    local type = redis.call('TYPE', KEYS[2]).ok
    if ARGV[4] ~= '' and type ~= 'none' and type ~= 'list' then return redis.call('LLEN', KEYS[2]) end
    local length, letter, element = tonumber(ARGV[2]), ARGV[3], ARGV[4]
    local function whole()
      for i = 0, redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[1]) - 1 do
        local found = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1], 'BYSCORE', 'LIMIT', i, 1)[1]
        if #found == length and string.sub(found, 1, #ARGV[3]) == ARGV[3] then return found end
      end
    end
    if #letter < length then
      letter = whole()
      element = letter and string.sub(letter, string.find(letter, '\\n', 1, true) + 1)
      collectgarbage()
    end
    if not letter or redis.call('ZREM', KEYS[1], letter) == 0 then return 0 end
    if ARGV[4] ~= '' then
      redis.pcall('ZREM', KEYS[4], ARGV[5])
      redis.call('SET', KEYS[3], ARGV[6], 'NX')
      redis.call('LPUSH', KEYS[2], '\(Seal.marker)' .. redis.call('GET', KEYS[3]) .. ' ' .. element)
    end
    return 1
    """)

  public struct Entry: Sendable {
    public let letter: DeadLetter
    /// The letter as it is stored in Redis, or its beginning if it is very long.
    public let bytes: [UInt8]
    /// Bytes of the whole letter.
    public let length: Int
    /// In the form in which Redis returned it.
    let score: String

    /// Bytes of the job that were not read.
    public var missingBytes: Int { length - bytes.count }
  }

  /// A member of the sorted set.
  struct Member {
    let score: String
    /// Nil if the member is not a dead letter: another program wrote it. It stays.
    let entry: Entry?
  }

  public let keys: QueueKeys
  let connection: RedisClient

  public init(queue: String, connection: RedisClient) {
    keys = QueueKeys(queue: queue)
    self.connection = connection
  }

  /// Calls `body` for each letter, newest first, until it returns false.
  public func forEach(while body: @EventLoop (Entry) -> Bool) async throws(RedisError) {
    var start = 0
    while true {
      let members = try await page(from: start)
      guard !members.isEmpty else { return }
      for member in members {
        if let entry = member.entry, !body(entry) { return }
      }
      start += members.count
    }
  }

  /// Reads one page: after `start` members, or after `start` of those that have this score or a lower one.
  func page(from start: Int, score: String? = nil) async throws(RedisError) -> [Member] {
    let answer = try await connection.call(DeadLetters.page, keys: [keys.dead]) { command in
      command.append(start)
      command.append(DeadLetters.pageSize)
      command.append(DeadLetters.pageBytes)
      command.append(DeadLetters.maximumBytes)
      command.append(DeadLetters.beginningBytes)
      command.append(score ?? "")
    }
    return (answer.array ?? []).map { Member(score: $0.array?.first?.string ?? "", entry: Entry($0)) }
  }

  /// Requeues or purges a letter. Returns false if it is gone.
  public func act(_ verb: DeadLetterVerb, on entry: Entry) async throws(RedisError) -> Bool {
    let result = await withCheckedContinuation { continuation in
      act(verb, on: entry) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  func act(
    _ verb: DeadLetterVerb, on entry: Entry, _ completion: @escaping @EventLoop (Result<Bool, RedisError>) -> Void
  ) {
    connection.call(DeadLetters.take, keys: [keys.dead, keys.queue, keys.seal, keys.cancelled]) { command in
      command.append(entry.score)
      command.append(entry.length)
      command.append(entry.bytes)
      command.append(verb == .requeue ? entry.letter.requeued : [])
      command.append(entry.letter.id)
      command.append(Seal.random())
    } _: {
      completion($0.map { $0.integer == 1 })
    }
  }
}

extension DeadLetters.Entry {
  /// Reads {score, length, bytes}. Returns nil if the bytes are not a dead letter.
  init?(_ value: RedisValue) {
    guard let parts = value.array, parts.count == 3, let score = parts[0].string, let length = parts[1].count,
      let bytes = parts[2].bytes, let letter = DeadLetter(bytes: bytes)
    else { return nil }
    self.init(letter: letter, bytes: bytes, length: length, score: score)
  }
}
