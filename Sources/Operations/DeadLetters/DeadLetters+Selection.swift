import Jobs
import EventLoop
import Queue
public import Redis

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
      FleetQueues.findDue(due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, dead: keys.dead))
    guard let parts = answer.array, parts.count == 3, parts[0].string == DueLocator.Place.dead.rawValue,
      let score = parts[1].string, let bytes = parts[2].bytes, let letter = DeadLetter(bytes: bytes)
    else { return nil }
    return Entry(letter: letter, bytes: bytes, length: bytes.count, score: score)
  }
}
