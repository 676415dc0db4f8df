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
  /// Reads the letter that a page showed. Returns nil if it is gone.
  public func entry(_ reference: BrowsedJob.Reference) async throws(RedisError) -> Entry? {
    Entry(
      try await connection.send(
        BrowsingScripts.findLetter(
          dead: keys.dead, score: reference.position.score, skip: reference.position.skip, wanted: reference.digest,
          most: DeadLetters.maximumBytes, beginning: DeadLetters.beginningBytes)))
  }

  /// Finds the letter of a job. Returns nil if there is none, or if it is so old that it has no locator.
  public func entry(of id: String) async throws(RedisError) -> Entry? {
    guard Job.isID(id) else { return nil }
    let answer = try await connection.send(
      JobLocator.findDue(due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, dead: keys.dead))
    guard let parts = answer.array, parts.count == 3, parts[0].string == DueLocator.Place.dead.rawValue,
      let score = parts[1].string, let bytes = parts[2].bytes, let letter = DeadLetter(bytes: bytes)
    else { return nil }
    return Entry(letter: letter, bytes: bytes, length: bytes.count, score: score)
  }
}
