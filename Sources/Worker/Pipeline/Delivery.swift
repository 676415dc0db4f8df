package import EventLoop
package import Jobs
package import PushModel
package import Queue
package import Registry

/// One attempt at one job.
@EventLoop
package final class Delivery {
  /// How far the attempt is.
  private enum Phase {
    /// The addressee is not resolved. A broadcast stays here: it resolves page by page and counts its own pushes.
    case claimed
    /// No push is in flight or waits for a permit.
    case resolved([Device])
    case sending([Device], unfinished: Int)
  }

  package let claim: Claim
  package let job: Job
  /// The job's own id, or the one derived from its nonce.
  package let id: String
  /// Those of a job with a class.
  package let terms: (any ClassTerms)?
  /// What earlier attempts left, passed on to the next.
  package var state: AttemptState
  package var tally: Tally
  /// The claim's permit; nil once it is used or given back.
  package var permit: Permit? = .counted()
  private var phase = Phase.claimed
  /// Whether the job replaces the one scheduled under the same id when it is retried, because its lookup failed.
  package var stillReplaces = false
  /// The owners reached so far, for a job to several tokens.
  package var reachedOwners: Set<Username>
  /// Events of this attempt for the job's history; empty for a job that is simply accepted.
  package var events: [HistoryEntry] = []
  /// Nil unless the attempt is recorded.
  package var record: (any AttemptRecord)?
  private var builtPayload: [UInt8]?
  /// What a gate has given the job to send. Nil if the job is its own content.
  package var ownContent: (any SentContent)? {
    didSet { builtPayload = nil }
  }
  private var narrowed: [Device]?

  package init(
    claim: Claim, job: Job, terms: (any ClassTerms)?, state: AttemptState, worker: String, isAtMostOnce: Bool
  ) {
    self.claim = claim
    self.job = job
    id = self.job.id ?? JobID.derived(nonce: claim.envelope.nonce ?? "")
    self.terms = terms
    self.state = state
    tally = Delivery.emptyTally(of: claim, self.job, state, id: id, worker: worker, isAtMostOnce: isAtMostOnce)
    reachedOwners = Set(state.reached.map { Username($0) })
    addEarlierAttempts()
    if job.hasNullInPayload, isFirstAttempt { addNull() }
  }

  /// What the tally of each part of the attempt starts from.
  package var emptyTally: Tally {
    Delivery.emptyTally(
      of: claim, job, state, id: id, worker: tally.result.worker, isAtMostOnce: tally.isAtMostOnce)
  }

  /// Which of the job's attempts it is.
  package var turn: AttemptTurn { tally.result.turn }

  private static func emptyTally(
    of claim: Claim, _ job: Job, _ state: AttemptState, id: String, worker: String, isAtMostOnce: Bool
  ) -> Tally {
    var result = JobResult(
      id: id, status: .retrying, attempts: claim.envelope.attempts + 1, worker: worker, claimedAt: claim.claimedAt)
    result.turn = claim.envelope.turn(state)
    if let trace = job.trace { result.trace = trace.text }
    return Tally(result: consume result, isAtMostOnce: isAtMostOnce)
  }

  /// Whether no earlier attempt has been made or postponed.
  package var isFirstAttempt: Bool {
    // A job without `sendAt` is only released after a delivery policy deferred it or a full worker postponed it.
    let wasPostponed = state.isReleased && job.sendAt == nil
    return claim.envelope.attempts == 0 && claim.envelope.crashes == 0 && !state.hasResult
      && state.recordAuthor == nil && !wasPostponed
  }

  /// Continues a broadcast where an earlier worker left it.
  package func resume(from progress: AttemptState) {
    guard (progress.cursor ?? "") >= (state.cursor ?? "") else { return }
    // The record was written by the last settlement, not by the last page.
    let (recordAuthor, history) = (state.recordAuthor, state.history)
    state = progress
    state.recordAuthor = recordAuthor
    state.history = history
    tally = emptyTally
    addEarlierAttempts()
  }

  private func addEarlierAttempts() {
    // The attempt that left them may have been at most once.
    if !tally.isAtMostOnce { state.reopenUncertain() }
    if let earlier = state.result { tally.result.merge(earlier: earlier) }
    tally.uncertain = state.uncertain
  }

  // MARK: - Phases

  /// The devices found; nil before the addressee is resolved, and always for a broadcast.
  package var devices: [Device]? {
    switch phase {
    case .claimed: nil
    case .resolved(let devices), .sending(let devices, _): devices
    }
  }

  package func resolve(to devices: [Device]) {
    phase = .resolved(devices)
    narrowed = nil
  }

  /// Begins with `count` pushes, at least one. ``endPush()`` is called for each.
  package func send(_ count: Int) { phase = .sending(devices ?? [], unfinished: count) }

  /// One of the pushes has ended. Returns whether it was the last one.
  package func endPush() -> Bool {
    guard case .sending(let devices, let unfinished) = phase else { preconditionFailure("no push is in flight") }
    phase = unfinished == 1 ? .resolved(devices) : .sending(devices, unfinished: unfinished - 1)
    return unfinished == 1
  }

  /// Whether there is something that the attempt has not tried.
  package func isUnfinished(after extent: AttemptExtent) -> Bool {
    tally.badJobReason == nil && (extent != .complete || !tally.open.isEmpty)
  }

  /// The outcome of an attempt at a cancelled job or a paused broadcast; nil for any other, or if everything was tried.
  package func outcomeOfMarks(after extent: AttemptExtent, isPaused: Bool) -> JobOutcome? {
    guard claim.isCancelled || isPaused, isUnfinished(after: extent) else { return nil }
    if claim.isCancelled { return .cancelled(after: extent) }
    // Devices that were left open are tried again in any case.
    return extent == .complete ? nil : .paused(after: extent)
  }

  // MARK: - Push

  package var content: any SentContent { ownContent ?? self }

  /// The devices that it is sent to: those found, without those that a gate has left out.
  package var targets: [Device] {
    get { narrowed ?? devices ?? [] }
    set { narrowed = newValue }
  }

  /// Built once for all pages of a broadcast. Throws if it is too large for APNs.
  package func payload() throws(JobError) -> [UInt8] {
    if let builtPayload { return builtPayload }
    let payload = try content.payload(in: nil)
    builtPayload = payload
    return payload
  }

  // MARK: - Next attempt

  /// What the outcome is decided from. `now` is Unix ms.
  package func attempt(_ end: AttemptEnd, now: Int64) -> JobOutcome.Attempt {
    var tally = tally
    if let terms { tally.wait = max(tally.wait, .seconds(terms.retrySeconds)) }
    if let fault = end.fault {
      tally.openReason = fault.reason
      if fault.isOfJob { tally.isFault = false }
    }
    return JobOutcome.Attempt(
      tally: tally, extent: end.extent, attempts: tally.result.attempts, expiration: state.expiresAt, now: now)
  }

  /// The element that runs the next attempt: only the devices still open, with what is known so far.
  package func nextElement(after extent: AttemptExtent, countsAttempt: Bool, recordAuthor: String?) -> [UInt8] {
    var envelope = claim.envelope
    if countsAttempt { envelope.attempts += 1 }
    envelope.state = nextState(after: extent, recordAuthor: recordAuthor).json()
    return envelope.element
  }

  /// The element of a job that waits for its time.
  package func scheduledElement(recordAuthor: String?) -> [UInt8] {
    var envelope = claim.envelope
    var next = state
    next.isReleased = true
    next.recordAuthor = recordAuthor
    envelope.state = next.json()
    return envelope.element
  }

  /// The envelope in a dead letter: once requeued, the job tries only what was left open or may have arrived.
  package func buriedEnvelope(after extent: AttemptExtent, recordAuthor: String?) -> Envelope {
    var envelope = claim.envelope
    guard tally.badJobReason == nil else { return envelope }
    envelope.state = nextState(after: extent, recordAuthor: recordAuthor).json()
    return envelope
  }

  private func nextState(after extent: AttemptExtent, recordAuthor: String?) -> AttemptState {
    var next = state
    next.recordAuthor = recordAuthor
    next.isReleased = true
    guard extent != .untouched else { return next }
    next.result = tally.result
    next.result?.history = JobHistory()
    next.uncertain = tally.uncertain
    next.reached = reachedOwnersWithOpenDevices
    // Cut short before anything was tried: everything open stays open. For a broadcast the cursor shows the rest.
    if extent == .complete || next.cursor != nil { next.open = tally.open }
    return next
  }

  // MARK: - Owners

  /// For a job to several tokens; for others the counters are enough.
  package func addReached(_ device: Device, by outcome: PushOutcome) {
    guard case .tokens = job.addressee, outcome == .accepted, let owner = device.username else { return }
    reachedOwners.insert(owner)
  }

  /// The owners of the job's tokens for whom the job is over: those without an open device, and all owners when the job
  /// ends.
  package func owners(reached wantsReached: Bool, isFinal: Bool) -> [Username] {
    guard let devices else { return [] }
    var owners = Set(devices.compactMap(\.username))
    var reached = reachedOwners
    if case .token = job.addressee, tally.result.accepted > 0 { reached = owners }
    if !isFinal { owners.subtract(ownersOfOpenDevices) }
    return (wantsReached ? owners.intersection(reached) : owners.subtracting(reached)).sorted()
  }

  /// For the next attempt, which sees only the open devices.
  private var reachedOwnersWithOpenDevices: [String] {
    guard !reachedOwners.isEmpty, devices != nil else { return state.reached }
    return ownersOfOpenDevices.intersection(reachedOwners).sorted().map(\.text)
  }

  private var ownersOfOpenDevices: Set<Username> {
    let tokens = Set(tally.open + tally.uncertain)
    return Set((devices ?? []).compactMap { tokens.contains($0.token) ? $0.username : nil })
  }
}

/// Whom a job is for.
extension Delivery {
  /// The user addressed, if it is one.
  package var username: Username? {
    switch job.addressee {
    case .user(let name), .userToken(let name, _): name
    case .activity(_, let user): user
    case .token, .tokens, .instance, .app, .activityToken, .channel: nil
    }
  }

  /// The instance addressed, if it is one.
  package var instance: String? {
    if case .instance(let id) = job.addressee { id } else { nil }
  }

  /// What to ask the registry; nil for a broadcast, which asks page by page, and for a channel.
  package var query: DeviceQuery? {
    switch job.addressee {
    case .user(let name): .user(name)
    case .userToken(let name, let token): .userToken(user: name, token: token)
    case .token(let token): .token(token)
    case .tokens(let tokens): .tokens(Delivery.distinct(tokens))
    case .instance(let id): .instance(id)
    case .activity(let id, _), .activityToken(let id, _): .activity(id)
    case .app, .channel: nil
    }
  }

  /// In their order. A device gets a job once, even if the job names it several times.
  private static func distinct(_ tokens: [DeviceToken]) -> [DeviceToken] {
    var seen: Set<DeviceToken> = []
    return tokens.filter { seen.insert($0).inserted }
  }

  /// `devices` without those that an earlier attempt finished.
  package func stillOpen(_ devices: [Device]) -> [Device] {
    guard let open = state.open else { return devices }
    // An instance has one device, which may have changed.
    if case .instance = job.addressee, !open.isEmpty { return devices }
    let wanted = Set(open)
    return devices.filter { wanted.contains($0.token) }
  }

  /// `devices` without those of other kinds, unless the job names their tokens.
  package func ofItsKind(_ devices: [Device]) -> [Device] {
    switch job.addressee {
    case .user, .instance: break
    case .userToken, .token, .tokens, .app, .activity, .activityToken, .channel: return devices
    }
    if let start = job.liveActivity?.start {
      return devices.filter { $0.kind == .pushtostart && $0.activity == start.attributesType }
    }
    let kind = job.pushType.kind
    // A plain loop: an isolated closure checks its executor at every call.
    for index in devices.indices where devices[index].kind != kind { return devices.filter { $0.kind == kind } }
    return devices
  }
}

/// The history of a job. It is made when the attempt ends, from what the attempt knows then; only what would be forgotten is noted
/// before. A job to devices that is simply accepted has none.
extension Delivery {
  // MARK: - Notes

  /// Entries of the addressee's set were not its devices.
  package func addRemovals(_ removals: [Removal], found: Int) {
    guard !removals.isEmpty else { return }
    var counts: [ReasonCount] = []
    for removal in removals { counts.count(removal.reason.rawValue, by: 1) }
    add(.resolved(devices: found, removed: counts, pushType: ownPushType))
  }

  package func addNull() { add(.nullInPayload) }

  /// The push type, if it goes to other tokens than those of apps.
  private var ownPushType: PushType? { job.pushType.kind == .app ? nil : job.pushType }

  /// Notes what would be forgotten until the attempt ends.
  package func add(_ event: HistoryEvent) {
    events.append(HistoryEntry(at: Clock.unixMilliseconds, event))
  }

  // MARK: - End of the attempt

  /// Writes the history into the result and into what the next attempt gets, unless the job was simply accepted. `now` is Unix ms.
  package func recordHistory(_ outcome: JobOutcome, at now: Int64) {
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
    if let terms, !answers.isEmpty {
      history.append(
        claim.claimedAt,
        .policy(HistoryPolicy(policy: terms.policyName, className: terms.className, decision: .send)))
    }
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
    case .schedule(let time) where outcome.rule == nil && outcome.reason != nil:
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
