import Queue
import Policy
import EventLoop
import Jobs
import Registry

/// One attempt at one job.
@EventLoop
final class Delivery {
  let claim: Claim
  let job: Job
  let id: String
  /// The policy and the class of a job that has one.
  let match: PolicyMatch?
  /// What may have arrived is not sent again.
  let isAtMostOnce: Bool
  /// What a part of the job that has not begun has come to.
  let emptyTally: Tally
  private var builtPayload: [UInt8]?
  /// What earlier attempts left, carried on to the next.
  var state: AttemptState
  var tally: Tally
  /// Pushes under way or waiting for a permit.
  var unfinished = 0
  /// Whether the claim's permit is still with the job.
  var hasPermit = true
  /// The attempt ends before all that was open has been tried: Redis did not let it begin, or a broadcast stopped midway.
  var isCutShort = false
  /// A broadcast was cut short before it knew how far an earlier worker had come: what stands in Redis stays there.
  var isProgressUnknown = false
  /// The user addressed.
  let username: String?
  /// What was to be tried, once that is known; of a broadcast never.
  var devices: [Device]?
  /// Owners of the job's tokens who were reached.
  var reached: Set<String> = []

  init(claim: Claim, job: Job, match: PolicyMatch?, state: AttemptState, isAtMostOnce: Bool, worker: String) {
    self.claim = claim
    self.job = job
    self.match = match
    self.state = state
    self.isAtMostOnce = isAtMostOnce
    id = job.id ?? JobID.derived(nonce: claim.envelope.nonce ?? "")
    let result = JobResult(
      id: id, status: .retrying, attempts: claim.envelope.attempts + 1, worker: worker, claimedAt: claim.claimedAt)
    emptyTally = Tally(result: result, isAtMostOnce: isAtMostOnce)
    tally = emptyTally
    switch job.addressee {
    case .user(let name), .userToken(let name, _): username = name
    case .token, .tokens, .instance, .app: username = nil
    }
    reached = Set(state.reached)
    beginTally()
  }

  /// Whether no earlier attempt has been made or put off.
  var isFirstAttempt: Bool {
    // A job without `sendAt` is only released after a delivery policy deferred it or a full worker put it off.
    let wasPutOff = state.isReleased && job.sendAt == nil
    return claim.envelope.attempts == 0 && claim.envelope.crashes == 0 && state.result == nil
      && state.recordAuthor == nil && !wasPutOff
  }

  /// A broadcast goes on where a worker that is gone has left it.
  func resume(from progress: AttemptState) {
    guard (progress.cursor ?? "") >= (state.cursor ?? "") else { return }
    // The record is what the last settlement says, not the last page.
    let recordAuthor = state.recordAuthor
    state = progress
    state.recordAuthor = recordAuthor
    beginTally()
  }

  private func beginTally() {
    // A worker that keeps to at most once may have begun it.
    if !isAtMostOnce { state.reopenUncertain() }
    tally = emptyTally
    if let earlier = state.result { tally.result.merge(earlier: earlier) }
    tally.uncertain = state.uncertain
  }

  /// Built once, however many pages a broadcast has.
  func payload() throws(JobError) -> [UInt8] {
    if let builtPayload { return builtPayload }
    let payload = try job.apnsPayload(match)
    builtPayload = payload
    return payload
  }

  /// What the conclusion is drawn from.
  func attempt(now: Int64) -> JobOutcome.Attempt {
    var tally = tally
    if let match { tally.wait = max(tally.wait, .seconds(match.policy.retrySeconds)) }
    return JobOutcome.Attempt(
      tally: tally, isCutShort: isCutShort, attempts: tally.result.attempts, expiration: state.expiresAt, now: now)
  }

  /// `devices` without those that an earlier attempt has settled.
  func stillOpen(_ devices: [Device]) -> [Device] {
    guard let open = state.open else { return devices }
    // An instance has one device: what is open is the job, whichever that is now.
    if case .instance = job.addressee, !open.isEmpty { return devices }
    let wanted = Set(open)
    return devices.filter { wanted.contains($0.token) }
  }

  /// Unix seconds, for the header; 0 asks APNs not to store the push.
  var expirationHeader: Int64? {
    if job.expiration == 0 || job.ttl == 0 { return 0 }
    return state.expiresAt.map { $0 / 1000 }
  }
}
