import EventLoop
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
        throw LetterActions.interrupted(verb, count, of: letters.count, by: error)
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
    var sentence = "\(verb.past) \(NumberText.count(Int64(count.done), "dead letter"))."
    if count.gone > 0 { sentence += " \(count.gone) had moved on before." }
    if count.left > 0 { sentence += " \(NumberText.grouped(Int64(count.left))) are left to look at: continue below." }
    return sentence
  }

  /// Redis failed on the way through all letters that match.
  static func interrupted(_ verb: DeadLetterVerb, _ sweep: DeadLetterSweep, by error: RedisError) -> PageError {
    var fault = PageError(error)
    guard sweep.done > 0 else { return fault }
    fault = PageError(
      fault.status, fault.title, "\(verb.past) \(sweep.done) letters before Redis failed. Try again to continue.")
    fault.cause = error
    return fault
  }

  static func interrupted(_ verb: DeadLetterVerb, _ count: DeadLetterSweep, of total: Int, by error: RedisError)
    -> PageError
  {
    var fault = PageError(error)
    guard count.done + count.gone > 0 else { return fault }
    let next = count.done + count.gone + 1
    let known =
      switch error {
      case .outcomeUnknown: "whether number \(next) was is not known, and the others were not touched."
      default: "the others were not touched."
      }
    fault = PageError(
      fault.status, fault.title, "\(verb.past) \(count.done) of \(total) letters before Redis failed; \(known)")
    fault.cause = error
    return fault
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
