import APNs
import EventLoop
import Jobs
import Queue

/// What operators ask of jobs: cancelled jobs, paused broadcasts, and scheduled jobs that are replaced.
extension Pipeline {
  // MARK: - Scheduled

  /// Keeps jobs until their time has come, unless they are cancelled. `next` is called when they are scheduled: the other jobs
  /// of the claim may replace them.
  func schedule(_ jobs: [(delivery: Delivery, at: Int64)], then next: @escaping @EventLoop () -> Void) {
    let queueIndex = jobs[0].delivery.claim.queueIndex
    guard queue.control.has(.cancellations, queueIndex: queueIndex) else {
      for job in jobs { schedule(job.delivery, at: job.at) }
      return next()
    }
    let screened = jobs.map { (id: $0.delivery.id, replaces: false) }
    queue.screen(screened, queueIndex: queueIndex) { [self] result in
      // Without an answer the cancellations are looked up when the jobs are due.
      let answers = (try? result.get()) ?? jobs.map { _ in .go }
      for (job, answer) in zip(jobs, answers) {
        if answer == .cancelled {
          end(job.delivery, as: .cancelled(after: .complete))
        } else {
          schedule(job.delivery, at: job.at)
        }
      }
      next()
    }
  }

  /// Keeps a job until its time has come. It replaces the one that is scheduled under the same id.
  private func schedule(_ delivery: Delivery, at: Int64) {
    let element = delivery.scheduledElement(recordAuthor: delivery.state.recordAuthor)
    var settlement = Settlement(.schedule(element: element, at: at))
    settlement.locator = delivery.locator
    if delivery.job.id != nil { queue.control.noteScheduledID(queueIndex: delivery.claim.queueIndex) }
    queue.settle(delivery.claim, settlement)
    releasePermit(of: delivery)
  }

  // MARK: - Claimed

  /// Begins with claimed jobs, which are of one queue.
  func begin(_ deliveries: [Delivery]) {
    guard let queueIndex = deliveries.first?.claim.queueIndex else { return }
    queue.control.mustScreen(queueIndex: queueIndex) ? screen(deliveries, queueIndex) : checkDuplicates(deliveries)
  }

  /// Looks up claimed jobs before anything is done for them. Most queues have nothing to look up, and skip this.
  private func screen(_ deliveries: [Delivery], _ queueIndex: Int) {
    let hasScheduledIDs = queue.control.has(.scheduledIDs, queueIndex: queueIndex)
    let jobs = deliveries.map { delivery in
      (id: delivery.id, replaces: hasScheduledIDs && delivery.replacesScheduled)
    }
    // After the settlements of this turn, which may schedule a job under the same id.
    EventLoop.atEndOfTurn { [self] in
      queue.screen(jobs, queueIndex: queueIndex) { [self] result in
        switch result {
        case .failure(let error):
          for (delivery, job) in zip(deliveries, jobs) {
            delivery.stillReplaces = job.replaces
            postpone(delivery, error)
          }
        case .success(let answers): screened(deliveries, answers)
        }
      }
    }
  }

  private func screened(_ deliveries: [Delivery], _ answers: [JobQueue.Screening]) {
    var left: [Delivery] = []
    for (delivery, answer) in zip(deliveries, answers) where !delivery.claim.isFenced {
      switch (answer, delivery.job.addressee) {
      case (.cancelled, _): cancel(delivery, after: .untouched)
      case (.paused, .app): end(delivery, as: .paused(after: .untouched))
      case (.go, _), (.paused, _): left.append(delivery)
      }
    }
    for delivery in deliveries where delivery.claim.isFenced { releasePermit(of: delivery) }
    if !left.isEmpty { checkDuplicates(left) }
  }

  // MARK: - In flight

  /// The window has a permit for a push of a cancelled job, which is not sent.
  func drop(_ draft: PushDraft) {
    // The window may be sending other drafts now.
    EventLoop.atEndOfTurn { [self] in
      window.leave(draft, isAnswered: false)
      record(.open(after: .zero, isFault: true), .notProcessed("cancelled"), draft)
    }
  }

  /// Ends an attempt at a cancelled job or a paused broadcast, unless everything was tried. Returns whether it has.
  func endSteered(_ delivery: Delivery, after extent: AttemptExtent) -> Bool {
    guard delivery.isUnfinished(after: extent) else { return false }
    if delivery.claim.isCancelled {
      cancel(delivery, after: extent)
    } else {
      // Devices that were left open are tried again in any case.
      guard extent != .complete else { return false }
      end(delivery, as: .paused(after: extent))
    }
    return true
  }

  /// Ends a cancelled job. The record of a broadcast includes what was sent before its worker died.
  private func cancel(_ delivery: Delivery, after extent: AttemptExtent) {
    guard case .app = delivery.job.addressee, extent == .untouched else {
      return end(delivery, as: .cancelled(after: extent))
    }
    queue.loadProgress(of: delivery.claim) { [self] result in
      if case .success(let progress?) = result { delivery.resume(from: progress) }
      end(delivery, as: .cancelled(after: .cutShort))
    }
  }

  // MARK: - Broadcasts

  /// Begins with a broadcast. It may have been cancelled or paused since it was looked up.
  func begin(_ delivery: Delivery, to app: String) {
    guard !delivery.claim.isCancelled else { return cancel(delivery, after: .untouched) }
    broadcasts.begin(delivery, app) { [self] in
      enter($0)
    } onEnd: { [self] in
      endAttempt(delivery, $0)
    }
    let queueIndex = delivery.claim.queueIndex
    if queue.control.has(.pausedBroadcasts, queueIndex: queueIndex) { pauseBroadcasts(queueIndex: queueIndex) }
  }

  /// An operator has paused broadcasts of a queue: finds out whether this worker has one of them.
  func pauseBroadcasts(queueIndex: Int) {
    let claimed = broadcasts.claimed(queueIndex: queueIndex)
    guard !claimed.isEmpty else { return }
    let jobs = claimed.map { (id: $0.delivery.id, replaces: false) }
    queue.screen(jobs, queueIndex: queueIndex) { [queue] result in
      guard case .success(let answers) = result else { return queue.control.repeatChange(queueIndex: queueIndex) }
      for (broadcast, answer) in zip(claimed, answers) where answer == .paused { broadcast.pause() }
    }
  }
}

extension Delivery {
  /// Whether the job replaces the one that is scheduled under its id. False if it was scheduled or tried before.
  fileprivate var replacesScheduled: Bool { job.id != nil && !state.isReleased && claim.envelope.attempts == 0 }
}

extension JobOutcome {
  /// What a broadcast does after an attempt with this outcome.
  var broadcastState: BroadcastEntry.State {
    switch verb {
    case .acknowledge, .bury: .finished
    case .retry, .schedule: .waiting
    case .cancel: .cancelled
    case .pause: .paused
    }
  }
}
