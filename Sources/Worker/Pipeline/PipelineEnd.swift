import APNs
import EventLoop
import Events
import Jobs
import PushModel
import Queue
import Redis
import Registry
import Telemetry

/// The end of a job's path, top to bottom: a push is answered, the attempt ends with an outcome, and the job leaves.
extension Pipeline {
  // MARK: - Answered

  /// A token that one environment does not know is looked up in the other one.
  func answered(_ draft: PushDraft, _ sent: SendOutcome) {
    // Nothing is to be judged or learned, as with most pushes.
    if sent.isAccepted, draft.device.environment != nil { return concluded(draft, .accepted, sent) }
    let answer = composer.answer(to: draft, sent)
    guard sent.isBadDeviceToken, let content = composer.contentElsewhere(of: draft.content) else {
      return judged(draft, AnsweredPush(answer, of: draft.device))
    }
    observer.answered(sent, .failed, draft)
    lookElsewhere(
      EnvironmentLooks.Look(
        first: answer, refused: draft,
        draft: PushDraft(delivery: draft.delivery, device: draft.device, content: content, page: draft.page)))
  }

  /// Sends a refused push once more, to the other environment.
  private func lookElsewhere(_ look: EnvironmentLooks.Look) {
    let draft = look.refused
    switch looks.begin(look) {
    case .send: sendLook(look)
    case .wait: break
    case .refuse: removeAndCount(draft, .failed, look.first.sent)
    case .busy:
      count(
        delayed(.open(after: .zero, isFault: true), draft),
        .notProcessed("too many tokens are being tried in the other environment"), draft)
    }
  }

  /// It is the turn of a look. Like any push, it is sent only while the job is this worker's.
  private func sendLook(_ look: EnvironmentLooks.Look) {
    let draft = look.draft
    guard !draft.delivery.claim.isFenced else {
      draft.page?.broadcast.abandon()
      return EventLoop.atEndOfTurn { [self] in endLook() }
    }
    guard !draft.delivery.claim.isCancelled else { return giveUp(look, because: "cancelled") }
    guard queue.lease.isFresh else {
      queue.lease.beat()
      return giveUp(look, because: "the lease is not confirmed")
    }
    draft.completion = { [self] second in
      lookAnswered(look, second)
      endLook()
    }
    observer.sending(draft)
    draft.content.client?.send(draft)
  }

  private func lookAnswered(_ look: EnvironmentLooks.Look, _ second: SendOutcome) {
    let result = AnsweredPush(
      first: look.first, second: composer.answer(to: look.draft, second), of: look.draft.device)
    guard result.isOfFirst else { return judged(look.draft, result) }
    learn(result, look.refused)
    observer.fellBack(on: result.sent, result.outcome, look.refused, after: second, look.draft)
    removeAndCount(look.refused, result.outcome, result.sent)
  }

  private func giveUp(_ look: EnvironmentLooks.Look, because reason: String) {
    // The page of its broadcast may be submitting other drafts now.
    EventLoop.atEndOfTurn { [self] in
      count(delayed(.open(after: .zero, isFault: true), look.draft), .notProcessed(reason), look.draft)
      endLook()
    }
  }

  private func endLook() {
    if let next = looks.end() { sendLook(next) }
  }

  /// It is known what the answers mean.
  private func judged(_ draft: PushDraft, _ result: AnsweredPush) {
    learn(result, draft)
    concluded(draft, delayed(result.outcome, draft), result.sent)
  }

  private func learn(_ result: AnsweredPush, _ draft: PushDraft) {
    let finding = composer.finding(
      result, of: draft.device, app: draft.content.bundleID, draft.content.question, through: draft.content.client)
    guard let finding else { return }
    learned.add(AnsweredDevice(draft.device, finding, instance: draft.delivery.instance))
  }

  private func concluded(_ draft: PushDraft, _ outcome: PushOutcome, _ sent: SendOutcome) {
    observer.answered(sent, outcome, draft)
    removeAndCount(draft, outcome, sent)
  }

  /// The outcome with the time to wait after a fault.
  private func delayed(_ outcome: PushOutcome, _ draft: PushDraft) -> PushOutcome {
    guard case .open(_, isFault: true) = outcome else { return outcome }
    let client = draft.content.client
    let delay = PushOutcome.faultDelay(
      untilProbe: client?.untilProbe(for: draft),
      outage: client?.outage(of: draft.content.environment) ?? .zero,
      untilExpiration: draft.delivery.state.expiresAt.map { .milliseconds($0 - Clock.unixMilliseconds) },
      random: .random(in: 0..<1))
    return .open(after: delay, isFault: true)
  }

  private func removeAndCount(_ draft: PushDraft, _ outcome: PushOutcome, _ sent: SendOutcome) {
    if case .stale(let since) = outcome {
      cleanup.removeStale(draft, unregisteredSince: since, reason: sent.reason)
    }
    count(outcome, sent, draft)
  }

  /// The push has ended, sent or not.
  func count(_ outcome: PushOutcome, _ sent: SendOutcome, _ draft: PushDraft) {
    let delivery = draft.delivery
    let push = EndedPush(token: draft.device.token, apnsID: draft.apnsID, outcome: outcome, sent: sent)
    observer.ended(outcome, sent, draft)
    if let page = draft.page { return page.broadcast.pushEnded(push, page: page.number) }
    delivery.tally.record(consume push)
    delivery.addReached(draft.device, by: outcome)
    delivery.ownContent?.ended(draft.device, outcome)
    if delivery.endPush() { endAttempt(delivery) }
  }

  // MARK: - Ended

  /// Decides the outcome of an attempt from its tally. `end` is nil if everything was tried, as in most attempts.
  func endAttempt(_ delivery: Delivery, _ end: AttemptEnd? = nil) {
    if let end { delivery.tally.add(end) }
    let extent = end?.extent ?? .complete
    guard clients != nil || extent != .complete else { return endUnsent(delivery) }
    if let outcome = delivery.outcomeOfMarks(after: extent, isPaused: end?.isPaused == true) {
      return leave(delivery, as: outcome)
    }
    // Fast path: every push has its answer, so the tally alone gives the outcome.
    if extent == .complete, let status = delivery.tally.finishedStatus {
      return leave(delivery, as: JobOutcome(status: status, exit: .acknowledge))
    }
    let attempt = delivery.attempt(end ?? AttemptEnd(), now: Clock.unixMilliseconds)
    leave(delivery, as: JobOutcome(attempt, schedule: retrySchedule, random: .random(in: 0..<1)))
  }

  /// Postpones the job: a command that the attempt needs has failed before anything was sent.
  func postpone(_ delivery: Delivery, _ error: RedisError, extent: AttemptExtent = .cutShort) {
    endAttempt(delivery, AttemptEnd(extent: extent, fault: .init(error)))
  }

  /// Runs the job again later as if it had not been claimed: its app has its share of the permits, and enough jobs of it wait
  /// in memory.
  func postponeBusy(_ job: SendWindow.Postponed) {
    observer.postpone(ofApp: window.lanes.label(of: job.lane))
    leave(job.delivery, as: .postponed(for: job.delay, because: JobOutcome.appIsBusy))
  }

  /// Ends an interval of ``ConcurrencyControl``, as ``SendWindow/endInterval(_:)``.
  func endInterval(_ note: (AppLane, _ old: Int) -> Void) {
    for job in window.endInterval(note) { postponeBusy(job) }
    sendWaiting()
  }

  /// In polling-only mode there is no APNs to send to.
  func endUnsent(_ delivery: Delivery) {
    guard let reason = delivery.sizeFaultForMany else {
      return leave(delivery, as: JobOutcome(status: .unsent, exit: .acknowledge))
    }
    delivery.tally.badJobReason = reason
    leave(delivery, as: JobOutcome(status: .dead, exit: .bury(reason: reason)))
  }

  /// At most once: an operator decides whether the pushes of a worker that died are sent again. A requeued broadcast
  /// continues after its last committed page.
  func buryCrashed(_ delivery: Delivery) {
    guard case .app = delivery.job.addressee else { return buryUncertain(delivery) }
    queue.loadProgress(of: delivery.claim) { [self] result in
      switch result {
      case .failure(let error): postpone(delivery, error, extent: .untouched)
      case .success(let progress):
        if let progress { delivery.resume(from: progress) }
        buryUncertain(delivery)
      }
    }
  }

  private func buryUncertain(_ delivery: Delivery) {
    delivery.tally.open = delivery.state.open ?? []
    leave(
      delivery, as: JobOutcome(buryingUncertain: delivery.tally, because: JobOutcome.crashed, extent: .cutShort))
  }

  // MARK: - Left

  /// The attempt is over, and the job leaves this worker.
  func leave(_ delivery: Delivery, as wanted: JobOutcome) {
    let outcome = delivery.claim.isCancelled && !wanted.status.isFinal ? .cancelled(after: wanted.extent) : wanted
    releasePermit(of: delivery)
    if outcome.status == .cancelled, outcome.extent == .untouched, case .app = delivery.job.addressee {
      return leaveCancelledBroadcast(delivery)
    }
    guard let content = delivery.ownContent else { return findOwners(of: delivery, outcome) }
    content.left(as: outcome) { [self] in findOwners(of: delivery, outcome) }
  }

  /// The record of a broadcast includes what was sent before its worker died.
  private func leaveCancelledBroadcast(_ delivery: Delivery) {
    queue.loadProgress(of: delivery.claim) { [self] result in
      if case .success(let progress?) = result { delivery.resume(from: progress) }
      settle(delivery, as: .cancelled(after: .cutShort))
    }
  }

  /// Looks up whom the notification records are for, if that is not known.
  private func findOwners(of delivery: Delivery, _ outcome: JobOutcome) {
    guard notifications.needOwners(of: delivery, outcome.status), let query = delivery.query else {
      return settle(delivery, as: outcome)
    }
    context.registry.resolve([query]) { [self] resolutions in
      guard let error = resolutions.first?.error else {
        delivery.resolve(to: delivery.stillOpen(resolutions.first?.devices ?? []))
        return settle(delivery, as: outcome)
      }
      ownersUnknown(of: delivery, outcome, error)
    }
  }

  /// The records would be lost: the job is postponed instead, and ends again. It would be postponed forever if its own
  /// keys are at fault.
  private func ownersUnknown(of delivery: Delivery, _ outcome: JobOutcome, _ error: RedisError) {
    guard error.isOfThisCommand else { return settle(delivery, as: .postponed(because: "\(error)")) }
    // Operator: Another program writes the keys of its tokens. `error` names the key.
    context.log.warn(
      "a job ended without notification records: the owners of its tokens could not be read",
      ["id": .init(delivery.id), "error": .init("\(error)"), "trace": .init(delivery.job.trace?.text)])
    settle(delivery, as: outcome)
  }

  private func settle(_ delivery: Delivery, as outcome: JobOutcome) {
    // The job belongs to another worker, and so does the progress of its broadcast.
    guard !delivery.claim.isFenced else { return observer.endedFenced(delivery, outcome) }
    let now = Clock.unixMilliseconds
    delivery.recordOutcome(outcome, at: now)
    observer.ended(delivery, outcome, at: now)
    queue.settle(delivery.claim, settlements.settlement(of: delivery, as: outcome, at: now))
    guard case .app(let app) = delivery.job.addressee else { return }
    queue.writeState(outcome.broadcastState, ofBroadcast: delivery.id, app: app, claim: delivery.claim)
    guard outcome.extent != .untouched else { return }
    // After the settlement, whose element holds the progress from then on.
    EventLoop.atEndOfTurn { [self] in queue.clearProgress(of: delivery.claim) }
  }

  func releasePermit(of delivery: Delivery) { window.giveBack(delivery.permit.take()) }

  // MARK: - Without an attempt

  /// Keeps a job until its time has come. It replaces the one that is scheduled under the same id.
  func schedule(_ delivery: Delivery, at: Int64) {
    let element = delivery.scheduledElement(recordAuthor: delivery.state.recordAuthor)
    if delivery.job.id != nil { queue.control.addScheduling(queueIndex: delivery.claim.queueIndex) }
    queue.settle(delivery.claim, Settlement(.schedule(at: at), as: element, locator: delivery.locator))
    releasePermit(of: delivery)
  }

  /// Buries an invalid job, byte for byte.
  func refuse(_ claim: Claim, because reason: String) {
    observer.refused(claim, because: reason)
    queue.settle(claim, settlements.refusal(of: claim, reason: reason, worker: queue.lease.name.value))
    window.giveBack(.counted())
  }

  /// Redis buried the jobs for their size before they reached this worker: writes their records. If the worker crashes
  /// before that, the dead letters stay without a record.
  func recordOversized(_ jobs: [OversizedJob]) {
    for job in jobs {
      observer.refusedOversized()
      let event = EventJob(id: job.id ?? "", queue: job.queue)
      context.events?.append([.dead(event, reason: Job.tooLarge, attempts: 1, at: Clock.unixMilliseconds)])
      guard let record = settlements.record(of: job, worker: queue.lease.name.value) else { continue }
      queue.write(record, queue: job.queue)
    }
  }

  /// The reaper buried the jobs of a worker that died: writes their records. If this worker crashes before that, the dead
  /// letters stay without a record.
  func recordCrashed(_ jobs: [CrashedJob]) {
    for job in jobs {
      guard let record = settlements.record(of: job) else { continue }
      queue.write(record, nonce: job.nonce, queue: job.queue)
    }
  }
}
