import EventLoop
import Queue
public import Redis

/// The result of an action on the dead letters that match a filter.
public struct DeadLetterSweep: Sendable, Equatable {
  /// Letters that were requeued or purged; for a dry run, letters that match.
  public var done = 0
  /// Letters that matched, but were already removed by another process.
  public var gone = 0
  /// Letters that were not examined because the time was over. The same call again continues with them.
  public var left = 0
  /// The error that ended the sweep. If it is not a refusal, Redis may have carried out the last commands.
  public var fault: RedisError?

  /// A call that has changed a letter begins no further page after this time. So each call makes progress, even if many
  /// letters in front do not match.
  public static let time = Duration.seconds(5)

  public init(done: Int = 0, gone: Int = 0, left: Int = 0) {
    self.done = done
    self.gone = gone
    self.left = left
  }
}

extension DeadLetterSweep {
  /// Requeues or purges the letters of `queues` that match, newest first; at most `limit`. A nil `verb` counts those that match.
  @EventLoop
  public static func run(
    _ verb: DeadLetterVerb?, _ filter: DeadLetterFilter, limit: Int = .max, queues: [String],
    connection: RedisClient, time: Duration = time
  ) async -> DeadLetterSweep {
    var sweep = DeadLetterSweep()
    let end = ContinuousClock.now + time
    for queue in queues {
      let letters = DeadLetters(queue: queue, connection: connection)
      var position = filter.start
      do throws(RedisError) {
        repeat {
          guard sweep.done < limit, sweep.fault == nil else { return sweep }
          let isOver = verb != nil && sweep.done > 0 && ContinuousClock.now >= end
          if isOver {
            sweep.left += try await letters.count(filter, from: position)
            break
          }
          position = try await letters.step(verb, filter, from: position, into: &sweep, limit: limit)
        } while position != nil
      } catch  where error.isWrongType {
        // Another program's key: there are no dead letters.
      } catch {
        sweep.fault = error
      }
    }
    return sweep
  }
}

extension DeadLetters {
  /// Requeues or purges the letters of one page that match. Returns where the next page begins; nil after the last letter.
  fileprivate func step(
    _ verb: DeadLetterVerb?, _ filter: DeadLetterFilter, from start: SortedPosition?,
    into sweep: inout DeadLetterSweep, limit: Int
  ) async throws(RedisError) -> SortedPosition? {
    let members = try await page(from: start?.skip ?? 0, score: start?.score)
    var walk = PageWalk(start: start, since: filter.since)
    var found: [Entry] = []
    for member in members where sweep.done + found.count < limit {
      let match = member.letter.flatMap { filter.includes($0.letter) ? $0 : nil }
      guard walk.examine(score: member.score, isTaken: verb != nil && match != nil) else { break }
      if let match { found.append(match) }
    }
    guard let verb else {
      sweep.done += found.count
      return walk.isOver || members.isEmpty ? nil : walk.position
    }
    for result in await act(verb, on: found) {
      switch result {
      case .success(true): sweep.done += 1
      case .success(false): sweep.gone += 1
      case .failure(let error): sweep.fault = error
      }
    }
    return walk.isOver || members.isEmpty ? nil : walk.position
  }

  /// The letters at `position` and behind it, back to the time of the filter.
  fileprivate func count(
    _ filter: DeadLetterFilter, from position: SortedPosition?
  ) async throws(RedisError) -> Int {
    let command = RedisCommand(
      "ZCOUNT", keys.dead, filter.since.map { String($0) } ?? "-inf", position?.score ?? "+inf")
    return max(0, (try await connection.send(command).count ?? 0) - (position?.skip ?? 0))
  }
}
