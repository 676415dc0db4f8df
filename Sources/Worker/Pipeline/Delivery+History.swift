import EventLoop
import Jobs
import Policy
import PushModel
import Queue
import Registry

/// The history of a job. It is made when the attempt ends, from what the attempt knows then; only what would be forgotten is noted
/// before. A job to devices that is simply accepted has none.
extension Delivery {
  // MARK: - Notes

  /// Entries of the addressee's set were not its devices.
  func noteRemovals(_ removals: [Removal], found: Int) {
    guard !removals.isEmpty else { return }
    var counts: [ReasonCount] = []
    for removal in removals { counts.count(removal.reason.rawValue, by: 1) }
    note(.resolved(devices: found, removed: counts, pushType: ownPushType))
  }

  /// `environments`: the number of those in which the job's channel exists and to which the job has not been sent yet.
  func noteChannel(environments: Int) { note(.channel(environments: environments)) }

  /// A delivery policy has suppressed or held the job.
  func notePolicy(_ decision: HistoryPolicy.Decision, _ rule: SuppressionReason, _ grounds: PolicyGrounds?) {
    guard let match else { return }
    var entry = HistoryPolicy(
      policy: match.policy.name, className: match.notificationClass.name, decision: decision, rule: rule.rawValue)
    entry.limit = grounds?.limit
    entry.used = grounds?.used
    entry.seconds = grounds?.seconds
    entry.until = grounds?.until
    note(.policy(entry))
  }

  /// The activity gets more updates than APNs may deliver.
  func noteTooManyUpdates() { note(.tooManyUpdates) }

  /// A device gets more starts of Live Activities than it may show.
  func noteTooManyStarts() { note(.tooManyStarts) }

  func noteNull() { note(.nullInPayload) }

  /// The push type, if it goes to other tokens than those of apps.
  private var ownPushType: PushType? { job.pushType.kind == .app ? nil : job.pushType }

  private func note(_ event: HistoryEvent) {
    events.append(HistoryEntry(at: Clock.unixMilliseconds, event))
  }

  // MARK: - End of the attempt

  /// Writes the history into the result and into what the next attempt gets, unless the job was simply accepted. `now` is Unix ms.
  func recordHistory(_ outcome: JobOutcome, at now: Int64) {
    guard !isSimplyAccepted(outcome) else { return }
    var history = state.history
    appendBeginning(to: &history, outcome.extent)
    for event in events { history.append(event) }
    var answers = outcome.extent == .untouched ? HistoryAnswers() : answers
    if outcome.status == .cancelled {
      // No attempt follows.
      for entry in answers.open { answers.refused.count(entry.reason, by: entry.count) }
      answers.open = []
    }
    if match != nil, !answers.isEmpty { history.append(claim.claimedAt, .policy(allowance)) }
    if !answers.isEmpty { history.append(now, .answered(answers)) }
    history.append(now, end(outcome, at: now))
    state.history = history
    tally.result.history = history
  }

  private func isSimplyAccepted(_ outcome: JobOutcome) -> Bool {
    outcome.status == .accepted && outcome.isAcknowledged && claim.envelope.attempts == 0
      && claim.envelope.crashes == 0 && events.isEmpty && state.history.isEmpty
  }

  private func appendBeginning(to history: inout JobHistory, _ extent: AttemptExtent) {
    let crashes = claim.envelope.crashes
    if crashes > history.crashes { history.append(claim.claimedAt, .takenOver(crashes: crashes)) }
    let since = isFirstAttempt ? job.waitingSince(now: claim.claimedAt) : nil
    history.append(
      claim.claimedAt,
      .claimed(
        worker: tally.result.worker, attempt: tally.result.attempts,
        waited: since.map { max(0, claim.claimedAt - $0) }))
    guard let devices, !events.contains(where: \.isResolution), extent != .untouched else { return }
    history.append(claim.claimedAt, .resolved(devices: devices.count, removed: [], pushType: ownPushType))
  }

  private var allowance: HistoryPolicy {
    HistoryPolicy(
      policy: match?.policy.name ?? "", className: match?.notificationClass.name ?? "", decision: .send)
  }

  /// How the pushes of this attempt ended.
  private var answers: HistoryAnswers {
    let earlier = state.result
    let open = tally.openReasons
    // A push without an answer is among the reasons, and open.
    var refused = tally.result.reasons.since(earlier?.reasons ?? [])
    refused = refused.since(open)
    var answers = HistoryAnswers(
      accepted: max(0, tally.result.accepted - (earlier?.accepted ?? 0)), refused: refused, open: open)
    guard answers.accepted + refused.total + open.total == 1 else { return answers }
    let last = tally.result.results.last
    let isOpen = !open.isEmpty
    answers.device = (isOpen ? tally.open.last : last?.token).map { "\($0.text.prefix(8))…" }
    if !isOpen, let status = last?.status, status != 0 { answers.status = status }
    return answers
  }

  private func end(_ outcome: JobOutcome, at now: Int64) -> HistoryEvent {
    switch outcome.exit {
    case .acknowledge, .handBack: .ended(outcome.status, reason: outcome.reason)
    case .schedule(let time) where outcome.reason == JobOutcome.noTokenYet:
      .postponed(until: time, reason: outcome.reason, times: 1)
    case .schedule(let time): .deferred(until: time)
    case .bury(let reason): .buried(reason: reason)
    case .pause: .paused
    case .retry(let delay, true, let reason): .retry(at: now + delay.milliseconds, reason: reason)
    case .retry(let delay, false, let reason):
      .postponed(until: now + delay.milliseconds, reason: reason, times: 1)
    }
  }
}

extension HistoryEntry {
  fileprivate var isResolution: Bool {
    switch event {
    case .resolved, .channel: true
    default: false
    }
  }
}
