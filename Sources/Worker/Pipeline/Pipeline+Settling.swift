import Queue
import EventLoop
import Events
import Jobs
import Redis
import Registry
import Telemetry

/// The end of a job's path: an attempt that has ended gets an outcome, and the outcome is settled.
extension Pipeline {
  /// Decides the outcome of an attempt from its tally. `end` is nil if everything was tried, as in most attempts.
  func endAttempt(_ delivery: Delivery, _ end: AttemptEnd? = nil) {
    if let end { delivery.tally.add(end) }
    let extent = end?.extent ?? .complete
    guard clients != nil || extent != .complete else { return endUnsent(delivery) }
    if delivery.claim.isCancelled || end?.isPaused == true, endSteered(delivery, after: extent) { return }
    // Everything was answered, too: nothing is left to decide.
    if extent == .complete, let status = delivery.tally.finishedStatus {
      return self.end(delivery, as: JobOutcome(status: status, verb: .acknowledge))
    }
    let attempt = delivery.attempt(end ?? AttemptEnd(), now: Clock.unixMilliseconds)
    self.end(delivery, as: JobOutcome(attempt, schedule: retrySchedule, random: .random(in: 0..<1)))
  }

  /// Postpones the job: a command that the attempt needs has failed before anything was sent.
  func postpone(_ delivery: Delivery, _ error: RedisError, extent: AttemptExtent = .cutShort) {
    endAttempt(delivery, AttemptEnd(extent: extent, fault: .init(error)))
  }

  /// Runs the job again later as if it had not been claimed: its app has its share of the permits, and enough jobs of it wait
  /// in memory.
  func postpone(_ job: SendWindow.Postponed) {
    observer.postpone(ofApp: window.lanes.label(of: job.lane))
    end(job.delivery, as: .postponed(for: job.delay, because: JobOutcome.appIsBusy))
  }

  /// Ends an interval of ``ConcurrencyControl``, as ``SendWindow/endInterval(_:)``.
  func endInterval(_ note: (AppLane, _ old: Int) -> Void) {
    for job in window.endInterval(note) { postpone(job) }
    sendWaiting()
  }

  /// In polling-only mode there is no APNs to send to.
  func endUnsent(_ delivery: Delivery) {
    guard let reason = delivery.sizeFaultForMany else {
      return end(delivery, as: JobOutcome(status: .unsent, verb: .acknowledge))
    }
    delivery.tally.badJobReason = reason
    end(delivery, as: JobOutcome(status: .dead, verb: .bury(reason: reason)))
  }

  /// Looks up whom the notification records are for, if that is not known, and settles the job.
  func end(_ delivery: Delivery, as wanted: JobOutcome) {
    let outcome = delivery.claim.isCancelled && !wanted.status.isFinal ? .cancelled(after: wanted.extent) : wanted
    releasePermit(of: delivery)
    guard let work = delivery.activity else { return finish(delivery, as: outcome) }
    report(work, delivery.turn, outcome) { [self] in finish(delivery, as: outcome) }
  }

  private func finish(_ delivery: Delivery, as outcome: JobOutcome) {
    guard notifications.needOwners(of: delivery, outcome.status), let query = delivery.query else {
      return settle(delivery, as: outcome)
    }
    context.registry.resolve([query]) { [self] resolutions in
      guard let error = resolutions.first?.error else {
        delivery.resolve(to: delivery.stillOpen(resolutions.first?.devices ?? []))
        return settle(delivery, as: outcome)
      }
      settle(delivery, as: outcome, ownersUnknown: error)
    }
  }

  /// The records would be lost: the job is postponed instead, and ends again. It would be postponed forever if its own
  /// keys are at fault.
  private func settle(_ delivery: Delivery, as outcome: JobOutcome, ownersUnknown error: RedisError) {
    if error.isOfThisCommand {
      context.log.warn(
        "a job ended without notification records: the owners of its tokens could not be read",
        ["id": .init(delivery.id), "error": .init("\(error)"), "trace": .init(delivery.job.trace?.text)])
      return settle(delivery, as: outcome)
    }
    settle(delivery, as: .postponed(because: "\(error)"))
  }

  private func settle(_ delivery: Delivery, as outcome: JobOutcome) {
    // The job belongs to another worker, and so does the progress of its broadcast.
    guard !delivery.claim.isFenced else { return observer.endedFenced(delivery, outcome) }
    let now = Clock.unixMilliseconds
    delivery.recordOutcome(outcome, at: now)
    observer.ended(delivery, outcome, at: now)
    queue.settle(delivery.claim, settlements.settlement(of: delivery, as: outcome, at: now))
    guard case .app(let app) = delivery.job.addressee else { return }
    queue.note(outcome.broadcastState, ofBroadcast: delivery.id, app: app, claim: delivery.claim)
    guard outcome.extent != .untouched else { return }
    // After the settlement, whose element holds the progress from then on.
    EventLoop.atEndOfTurn { [self] in queue.clearProgress(of: delivery.claim) }
  }

  func releasePermit(of delivery: Delivery) {
    if let permit = delivery.permit.take() { context.permits.release(permit) }
  }

  // MARK: - Without an attempt

  /// Buries an invalid job, byte for byte.
  func refuse(_ claim: Claim, because reason: String) {
    observer.refused(claim, because: reason)
    queue.settle(claim, settlements.refusal(of: claim, reason: reason, worker: queue.lease.name.value))
    context.permits.release(.counted())
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
