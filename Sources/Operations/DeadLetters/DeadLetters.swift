public import EventLoop
import Jobs
public import Queue
public import Redis

/// The dead letters of a queue. They are read in pages, and requeued or purged one by one, each in one atomic step.
@EventLoop
public struct DeadLetters {
  private static let pageSize = 200

  /// A longer letter is not read whole.
  static let maximumBytes = 1024 * 1024
  /// Bytes that are read of such a letter: its first line, and the beginning of its job.
  static let beginningBytes = Job.maximumBytes

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

  public let keys: QueueKeys
  let connection: RedisClient

  public init(queue: String, connection: RedisClient) {
    keys = QueueKeys(queue: queue)
    self.connection = connection
  }

  /// Returns the letters that match, newest first, at most `limit`.
  public func find(_ filter: DeadLetterFilter, limit: Int) async throws(RedisError) -> [Entry] {
    var found: [Entry] = []
    var start = 0
    while found.count < limit {
      let members = try await page(from: start)
      if members.isEmpty { break }
      found += members.compactMap(\.letter).filter { filter.includes($0.letter) }
      start += members.count
    }
    return Array(found.prefix(limit))
  }

  /// Reads one page: after `start` members, or after `start` of those that have this score or a lower one.
  func page(
    from start: Int, score: String? = nil, most: Int = pageSize
  ) async throws(RedisError) -> [BoundedRead.Element] {
    let read = BoundedRead(
      key: keys.dead, isList: false, end: .last, skip: start, score: score, most: most,
      wholeBytes: DeadLetters.maximumBytes, beginningBytes: DeadLetters.beginningBytes)
    return try await read.send(to: connection).elements
  }

  /// Requeues or purges a letter. Returns false if it is gone.
  public func act(_ verb: DeadLetterVerb, on entry: Entry) async throws(RedisError) -> Bool {
    try await act(verb, on: [entry])[0].get()
  }

  /// Requeues or purges letters, in one exchange.
  func act(_ verb: DeadLetterVerb, on entries: [Entry]) async -> [Result<Bool, RedisError>] {
    await EventLoop.gather(entries) { entry, end in
      let call = OperationsScripts.takeLetter(
        dead: keys.dead, queue: keys.queue, seal: keys.seal, cancelled: keys.cancelled, score: entry.score,
        length: entry.length, letter: entry.bytes, requeued: verb == .requeue ? entry.letter.requeued : [],
        id: entry.letter.id, word: Seal.random())
      connection.send(call) { end($0.map { $0.integer == 1 }) }
    }
  }
}

extension BoundedRead.Element {
  /// Nil if this is not a dead letter: another program wrote it. It stays.
  var letter: DeadLetters.Entry? {
    DeadLetter(bytes: bytes).map { DeadLetters.Entry(letter: $0, bytes: bytes, length: length, score: score) }
  }
}

/// What an operator does with a dead letter.
public enum DeadLetterVerb: String, Sendable, CaseIterable {
  /// Its job goes to the back of the queue.
  case requeue
  /// It is deleted.
  case purge
}

/// Finds the letters that an operator selected.
extension DeadLetters {
  /// Letters of the same score before and behind the place of a reference that are compared with it.
  private static let searchedNeighbours = 1000

  /// Reads the letter that a page showed. Returns nil if it is gone. Letters before it may have come or gone.
  public func entry(_ reference: BrowsedJob.Reference) async throws(RedisError) -> Entry? {
    let (score, place) = (reference.position.score, reference.position.skip)
    let count = try await connection.send(RedisCommand("ZCOUNT", keys.dead, score, score)).count ?? 0
    let first = max(0, min(place, count) - DeadLetters.searchedNeighbours)
    let neighbours = BoundedRead(
      key: keys.dead, isList: false, end: .last, skip: first, score: score,
      most: min(count - first, 2 * DeadLetters.searchedNeighbours), wholeBytes: BoundedRead.digestBytes,
      beginningBytes: BoundedRead.digestBytes)
    let found = try await neighbours.send(to: connection).elements.firstIndex { $0.digest == reference.digest }
    guard let found else { return nil }
    let member = try await page(from: first + found, score: score, most: 1).first
    return member?.digest == reference.digest ? member?.letter : nil
  }

  /// Finds the letter of a job. Returns nil if there is none, or if it is so old that it has no locator.
  public func entry(of id: String) async throws(RedisError) -> Entry? {
    guard Job.isID(id) else { return nil }
    let answer = try await connection.send(
      OperationsScripts.findDue(due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, dead: keys.dead))
    guard let parts = answer.array, parts.count == 3, parts[0].string == DueLocator.Place.dead.rawValue,
      let score = parts[1].string, let bytes = parts[2].bytes, let letter = DeadLetter(bytes: bytes)
    else { return nil }
    return Entry(letter: letter, bytes: bytes, length: bytes.count, score: score)
  }
}
