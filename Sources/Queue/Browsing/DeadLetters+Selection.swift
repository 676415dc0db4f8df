import Jobs
import EventLoop
public import Redis

/// What an operator does with a dead letter.
public enum DeadLetterVerb: String, Sendable, CaseIterable {
  /// Its job goes to the back of the queue.
  case requeue
  /// It is deleted.
  case purge
}

/// Finds the letters that an operator selected, and acts on all that match a filter, a page at a time.
extension DeadLetters {
  /// Reads the letter that a page showed. Returns nil if it is gone.
  public func entry(_ reference: BrowsedJob.Reference) async throws(RedisError) -> Entry? {
    let answer = try await connection.call(QueueScripts.findLetter, keys: [keys.dead]) { command in
      command.append(reference.position.score)
      command.append(reference.position.skip)
      command.append(reference.digest)
      command.append(DeadLetters.maximumBytes)
      command.append(DeadLetters.beginningBytes)
    }
    return Entry(answer)
  }

  /// Requeues or purges a letter. Returns false if it is gone.
  public func act(_ verb: DeadLetterVerb, on entry: Entry) async throws(RedisError) -> Bool {
    switch verb {
    case .requeue: try await requeue(entry)
    case .purge: try await purge(entry)
    }
  }

  /// Requeues or purges the letters of one page that match.
  public func step(
    _ verb: DeadLetterVerb, _ filter: DeadLetterFilter, from position: SortedPosition?
  ) async throws(RedisError) -> BulkStep {
    let start = position ?? filter.start
    let members = try await page(from: start?.skip ?? 0, score: start?.score)
    var walk = PageWalk(start: start, since: filter.since)
    for member in members {
      let isWanted = member.entry.map { filter.includes($0.letter) } ?? false
      guard walk.examine(score: member.score, isWanted: isWanted) else { break }
    }
    let results = await act(verb, on: walk.wanted.compactMap { members[$0].entry })
    var step = BulkStep(examined: walk.examined, next: walk.isOver || members.isEmpty ? nil : walk.position)
    for result in results {
      switch result {
      case .success(true): step.done += 1
      case .success(false): step.gone += 1
      case .failure(let error): step.fault = error
      }
    }
    if step.fault != nil { step.next = start }
    return step
  }

  /// In one exchange.
  private func act(_ verb: DeadLetterVerb, on entries: [Entry]) async -> [Result<Bool, RedisError>] {
    guard !entries.isEmpty else { return [] }
    return await withCheckedContinuation { continuation in
      var results: [Result<Bool, RedisError>] = []
      for entry in entries {
        take(entry, queueing: verb == .requeue ? entry.letter.requeued : []) { result in
          results.append(result)
          if results.count == entries.count { continuation.resume(returning: results) }
        }
      }
    }
  }
}

extension DeadLetters {
  /// Finds the letter of a job. Returns nil if there is none, or if it is so old that it has no locator.
  public func entry(of id: String) async throws(RedisError) -> Entry? {
    guard Job.isID(id) else { return nil }
    let answer = try await connection.call(
      ControlScripts.findDue, keys: [keys.due(id), keys.retry, keys.scheduled, keys.dead])
    guard let parts = answer.array, parts.count == 3, parts[0].string == DueLocator.Place.dead.rawValue,
      let score = parts[1].string, let bytes = parts[2].bytes, let letter = DeadLetter(bytes: bytes)
    else { return nil }
    return Entry(letter: letter, bytes: bytes, length: bytes.count, score: score)
  }
}
