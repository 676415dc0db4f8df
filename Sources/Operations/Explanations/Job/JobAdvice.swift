import Jobs
import PushModel
import Queue

/// What to do about a job.
enum JobAdvice {
  static func of(_ facts: JobFacts, _ state: JobExplanation.State) -> String? {
    if facts.isStopped(state) { return "Resume the queue: martlet queue resume \(facts.location.queue ?? "")" }
    switch state {
    case .unknown where isWaitingPossible(facts):
      return
        "Only the beginning and the end of a long queue are searched. Try again when the queue is shorter, or the job was claimed."
    case .unknown:
      return "Check the id, and that the queue is one of MARTLET_QUEUES. Records are kept for MARTLET_RESULT_TTL "
        + "(24 h by default), and only those that MARTLET_RESULTS names." + absence(facts)
    case .waiting: return waiting(facts)
    case .deferred where facts.waitsForToken:
      return "Let the app register its update token: docs/live-activities.md. What else is known of the activity: "
        + "martlet explain --activity \(facts.activity ?? "ID")"
    case .inFlight, .scheduled, .deferred: return nil
    case .retrying: return retrying(facts)
    case .paused: return "Resume it: martlet broadcast resume \(facts.id)"
    case .dead: return dead(facts)
    case .ended: return facts.record.flatMap { ended($0, facts) }
    }
  }

  private static func absence(_ facts: JobFacts) -> String {
    let memory = MemoryReport.worst(facts.workers.values.compactMap(\.memory))
    return memory?.absence.map { " Or: \($0)." } ?? ""
  }

  private static func isWaitingPossible(_ facts: JobFacts) -> Bool {
    facts.location.place == .unknown(isWaitingPossible: true)
  }

  private static func waiting(_ facts: JobFacts) -> String? {
    let queue = facts.location.queue ?? ""
    guard facts.workers.isEmpty else { return nil }
    return "Start a worker, or let one serve \(queue): MARTLET_QUEUES."
  }

  private static func retrying(_ facts: JobFacts) -> String? {
    if let reason = facts.record?.reason, let advice = PushReason.of(reason).advice { return advice }
    let paused = facts.workers.values.flatMap(\.pausedRoutes).min { $0.since < $1.since }
    guard let paused, facts.record?.reason?.contains(paused.reason) == true else { return nil }
    return "The route \(paused.topic) (\(paused.environment.rawValue)) is paused: \(PushReason.of(paused.reason).fix)."
  }

  private static func dead(_ facts: JobFacts) -> String {
    let requeue = "martlet dead requeue \(facts.id)"
    var reason = facts.record?.reason ?? ""
    if case .dead(_, let own) = facts.location.place { reason = own }
    if reason.hasPrefix("Uncertain") {
      let recipients = facts.history.isOfChannel ? "environments" : "devices"
      return "Decide whether it may be shown twice. If so, \(requeue) sends it to the \(recipients) without an answer."
    }
    if reason.hasPrefix("crashed") {
      return "Read the logs of the workers that died. If the job was not the cause: \(requeue)"
    }
    if reason.hasPrefix("expired") { return "Nothing, if it is of no use any more. Otherwise send a new job." }
    if reason.hasPrefix("gave up") {
      let cause = reason.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? ""
      let advice = PushReason.of(cause).advice.map { "\($0) " } ?? "Remove the cause. "
      return "\(advice)Then: \(requeue)"
    }
    return "Correct the producer and send the job again; a dead letter cannot be changed."
  }

  private static func ended(_ record: JobResult, _ facts: JobFacts) -> String? {
    switch record.status {
    case .partial, .failed: return record.reasons.lazy.compactMap { PushReason.of($0.reason).advice }.first
    case .noDevices: return "See why: martlet explain --user NAME (or --instance ID), with the addressee of the job."
    case .duplicate where record.reason == "StartedBefore": return nil
    case .duplicate: return "Nothing, if the producer repeated the job. Otherwise give jobs different dedupe values."
    case .expired: return "Give it a later expiration or ttl, or run more workers if jobs wait long: martlet status"
    case .unsent:
      return "To have it pushed, set APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_PRIVATE_KEY for the workers."
    case .suppressed: return "Nothing, if the policy is as it should be: docs/policy.md, MARTLET_POLICY_FILE."
    case .accepted, .deferred, .retrying, .dead, .cancelled, .superseded: return nil
    }
  }
}
