import EventLoop
import Jobs
import Queue
import Redis

/// Decides what to do with a claim before anything is looked up.
@EventLoop
struct Intake {
  enum Decision {
    case deliver(Delivery)
    /// The job ends without an attempt.
    case end(Delivery, as: JobOutcome)
    /// At most once, and a worker died while the job was in flight: it may have been sent.
    case buryCrashed(Delivery)
    /// Not before `at`, Unix ms.
    case schedule(Delivery, at: Int64)
    /// Not a valid job.
    case refuse(reason: String)
  }

  /// Nil if jobs may name no class.
  var classes: (any JobClasses)?
  /// A job may not ask for its reply there.
  let queues: [String]
  let mode: DeliveryMode
  /// In the order of the queues; nil if all hold jobs alone.
  var formats: [QueueFormat?]?

  /// `now` is Unix ms.
  func decide(_ claim: Claim, worker: String, now: Int64) -> Decision {
    let job: Job
    let terms: (any ClassTerms)?
    do {
      if let format = formats?[claim.queueIndex] {
        job = try Job(parsing: claim.envelope.job, as: format)
      } else {
        job = try Job(parsing: claim.envelope.job)
      }
      try job.refuseReply(to: queues)
      terms = try job.terms(in: classes)
    } catch {
      return .refuse(reason: error.reason)
    }
    var state = AttemptState(json: claim.envelope.state)
    if state.expiresAt == nil { state.expiresAt = Intake.expiration(of: job, now: now) }
    let isAtMostOnce = job.atMostOnce || mode == .atMostOnce
    let delivery = Delivery(
      claim: claim, job: consume job, terms: terms, state: consume state, worker: worker, isAtMostOnce: isAtMostOnce)
    if isAtMostOnce, claim.envelope.crashes > 0 { return .buryCrashed(delivery) }
    if let at = delivery.job.sendAt, at > now, !delivery.state.isReleased { return .schedule(delivery, at: at) }
    if let expiresAt = delivery.state.expiresAt, expiresAt <= now {
      return .end(delivery, as: JobOutcome(status: .expired, exit: .acknowledge))
    }
    return .deliver(delivery)
  }

  /// Unix ms. A `ttl` counts from `sendAt`, or from the first claim.
  private static func expiration(of job: Job, now: Int64) -> Int64? {
    // 0 asks APNs not to store the push; it does not limit our own retries.
    if job.expiration == 0 || job.ttl == 0 { return nil }
    if let seconds = job.expiration { return seconds * 1000 }
    return job.ttl.map { max(job.sendAt ?? now, now) + $0 * 1000 }
  }
}
