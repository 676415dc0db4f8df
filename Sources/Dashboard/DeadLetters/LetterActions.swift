import EventLoop
import Operations
import Queue
import Redis

/// Requeues or purges letters that an operator named, one by one.
@EventLoop
struct LetterActions {
  let context: DashboardContext

  /// Acts on each letter. Throws an error that says how many were done if Redis fails on the way.
  func act(_ verb: DeadLetterVerb, on letters: [SelectedLetter]) async throws(PageError) -> ActionOutcome {
    var count = DeadLetterSweep()
    for letter in letters {
      do throws(RedisError) {
        let dead = DeadLetters(queue: letter.queue, connection: context.connection)
        if let entry = try await dead.entry(letter.reference), letter.id.isEmpty || letter.id == entry.letter.id,
          try await dead.act(verb, on: entry)
        {
          count.done += 1
        } else {
          count.gone += 1
        }
      } catch {
        throw LetterActions.interrupted(LetterActions.progress(verb, count, of: letters.count, by: error), by: error)
      }
    }
    guard count.done > 0 else {
      throw .movedOn(
        letters.count == 1
          ? "This letter has moved on: it was requeued or purged before. Nothing was done."
          : "These letters have moved on: they were requeued or purged before. Nothing was done.")
    }
    return .done(LetterActions.sentence(verb, count))
  }

  /// `Requeued 3 dead letters. 2 had moved on before. 40 are left to look at: continue below.`
  static func sentence(_ verb: DeadLetterVerb, _ count: DeadLetterSweep) -> String {
    var sentence = "\(verb.past) \(NumberText.count(count.done, "dead letter"))."
    if count.gone > 0 { sentence += " \(count.gone) had moved on before." }
    if count.left > 0 { sentence += " \(NumberText.grouped(count.left)) are left to look at: continue below." }
    return sentence
  }

  /// Redis failed on the way. `text` says what was done before; nil if nothing was.
  static func interrupted(_ text: String?, by error: RedisError) -> PageError {
    var fault = PageError(error)
    guard let text else { return fault }
    fault = PageError(fault.status, fault.title, text)
    fault.cause = error
    return fault
  }

  /// Says what was done to named letters before Redis failed.
  static func progress(
    _ verb: DeadLetterVerb, _ count: DeadLetterSweep, of total: Int, by error: RedisError
  ) -> String? {
    let seen = count.done + count.gone
    guard seen > 0 else { return nil }
    let unknown =
      if case .outcomeUnknown = error { "whether number \(seen + 1) was is not known, and " } else { "" }
    return "\(verb.past) \(count.done) of \(total) letters before Redis failed; \(unknown)the others were not touched."
  }
}

extension DeadLetterVerb {
  /// `Requeued`, `Purged`.
  var past: String {
    switch self {
    case .requeue: "Requeued"
    case .purge: "Purged"
    }
  }

  /// `Requeue`, `Purge`.
  var imperative: String {
    switch self {
    case .requeue: "Requeue"
    case .purge: "Purge"
    }
  }
}
