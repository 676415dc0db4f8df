import PushModel
import EventLoop
import Events
import Jobs
import Queue

/// Makes the events of jobs, which are written with their settlements.
@EventLoop
struct JobEvents {
  /// Whether events are written at all.
  let areWritten: Bool
  /// The names of the queues, by the index of a claim.
  let queues: [String]

  /// The events of an attempt that ends with this outcome. `now` is Unix ms.
  func events(of delivery: Delivery, as outcome: JobOutcome, at now: Int64) -> [Event] {
    guard areWritten, outcome.status.isFinal else { return [] }
    let result = delivery.tally.result
    var events: [Event] = []
    if case .bury(let reason) = outcome.exit {
      let isUncertain = reason == JobOutcome.uncertain || reason == JobOutcome.crashed
      events.append(
        .dead(job(delivery), reason: reason, attempts: result.attempts, isUncertain: isUncertain, at: now))
    }
    if case .app(let app) = delivery.job.addressee {
      events.append(.finished(job(delivery), app: app, outcome.status, result, at: now))
    } else if outcome.status == .failed {
      events.append(.failed(job(delivery), result, at: now))
    }
    if case .activity(let activity, let user) = delivery.job.addressee, delivery.job.liveActivity?.event == .end,
      result.accepted > 0
    {
      events.append(.ended(activity: activity, user: user?.text, job(delivery), result, at: now))
    }
    return events
  }

  /// The event of an element that is not a valid job.
  func refusal(of claim: Claim, id: String, reason: String, attempts: Int, at now: Int64) -> [Event] {
    guard areWritten else { return [] }
    return [.dead(EventJob(id: id, queue: queues[claim.queueIndex]), reason: reason, attempts: attempts, at: now)]
  }

  private func job(_ delivery: Delivery) -> EventJob {
    EventJob(
      id: delivery.id, queue: queues[delivery.claim.queueIndex], trace: delivery.job.trace?.text)
  }
}
