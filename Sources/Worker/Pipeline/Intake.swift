import Queue
import Policy
import EventLoop
import Jobs
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

  var policies: PolicyBook
  /// A job may not ask for its reply there.
  let queues: [String]
  let mode: DeliveryMode
  /// In the order of the queues; nil if all hold jobs alone.
  var formats: [QueueFormat?]?

  /// `now` is Unix ms.
  func decide(_ claim: Claim, worker: String, now: Int64) -> Decision {
    let job: Job
    let match: PolicyMatch?
    do {
      if let format = formats?[claim.queueIndex] {
        job = try Job(parsing: claim.envelope.job, as: format)
      } else {
        job = try Job(parsing: claim.envelope.job)
      }
      try job.refuseReply(to: queues)
      match = try policies.match(job)
    } catch {
      return .refuse(reason: error.reason)
    }
    var state = AttemptState(json: claim.envelope.state)
    if state.expiresAt == nil { state.expiresAt = Intake.expiration(of: job, now: now) }
    let isAtMostOnce = job.atMostOnce || mode == .atMostOnce
    let delivery = Delivery(
      claim: claim, job: consume job, match: match, state: consume state, worker: worker, isAtMostOnce: isAtMostOnce)
    if isAtMostOnce, claim.envelope.crashes > 0 { return .buryCrashed(delivery) }
    if let at = delivery.job.sendAt, at > now, !delivery.state.isReleased { return .schedule(delivery, at: at) }
    if let expiresAt = delivery.state.expiresAt, expiresAt <= now {
      return .end(delivery, as: JobOutcome(status: .expired, verb: .acknowledge))
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

/// Lets one job through for each `dedupe` value within 24 hours: the one whose nonce Redis holds for the value.
@EventLoop
struct DuplicateCheck {
  enum Answer {
    case first
    case duplicate
    case fault(RedisError)
  }

  private static let window = Duration.seconds(24 * 3600)
  /// Returns the nonce of the first job. DEL takes no memory: the script's first write succeeds even if Redis is full.
  ///
  /// `ttl`: how long the value is kept, in ms.
  private static let script = RedisScript(
    keys: ["value"], arguments: ["nonce", "ttl"],
    """
    local holder = redis.call('GET', value)
    if holder then return holder end
    redis.call('DEL', value)
    redis.call('SET', value, nonce, 'PX', ttl)
    return nonce
    """)

  let connection: RedisClient

  func check(_ delivery: Delivery, _ completion: @escaping @EventLoop (Answer) -> Void) {
    guard let value = delivery.job.dedupe, let nonce = delivery.claim.envelope.nonce else { return completion(.first) }
    let call = DuplicateCheck.script(
      value: QueueKeys.dedupe(value), nonce: nonce, ttl: DuplicateCheck.window.milliseconds)
    connection.send(call) { result in
      switch result {
      case .success(let holder): completion(holder.string == nonce ? .first : .duplicate)
      case .failure(let error): completion(.fault(error))
      }
    }
  }
}
