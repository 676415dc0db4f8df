import Queue
import Policy
import EventLoop
import Jobs

/// Reads a claim: what is to be done with it before anybody is asked. Pure but for the objects it makes.
@EventLoop
enum Intake {
  enum Answer {
    case deliver(Delivery)
    /// It has ended already.
    case settle(Delivery, JobOutcome)
    /// At most once, and a worker died with it: it may have been sent.
    case crashed(Delivery)
    /// Not before `at`, unix ms.
    case schedule(Delivery, at: Int64)
    /// The dead letters, for this reason.
    case refuse(String)
  }

  static func read(
    _ claim: Claim, policies: PolicyBook, queues: [String], mode: DeliveryMode, worker: String, now: Int64
  ) -> Answer {
    let job: Job
    let match: PolicyMatch?
    do {
      job = try Job(parsing: claim.envelope.job)
      try job.refuseReply(to: queues)
      match = try policies.match(job)
    } catch {
      return .refuse(error.reason)
    }
    var state = AttemptState(json: claim.envelope.state)
    if state.expiresAt == nil { state.expiresAt = expiration(of: job, now: now) }
    let isAtMostOnce = job.atMostOnce || mode == .atMostOnce
    let delivery = Delivery(
      claim: claim, job: job, match: match, state: state, isAtMostOnce: isAtMostOnce, worker: worker)
    if isAtMostOnce, claim.envelope.crashes > 0 { return .crashed(delivery) }
    if let at = job.sendAt, at > now, !state.isReleased { return .schedule(delivery, at: at) }
    if let expiresAt = state.expiresAt, expiresAt <= now {
      return .settle(delivery, JobOutcome(status: .expired, verb: .done))
    }
    return .deliver(delivery)
  }

  /// Unix ms. A `ttl` counts from `sendAt`, or from the first claim.
  private static func expiration(of job: Job, now: Int64) -> Int64? {
    // 0 asks APNs not to store the push; it says nothing of our own retries.
    if job.expiration == 0 || job.ttl == 0 { return nil }
    if let seconds = job.expiration { return seconds * 1000 }
    return job.ttl.map { max(job.sendAt ?? now, now) + $0 * 1000 }
  }
}
