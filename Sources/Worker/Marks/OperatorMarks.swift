import EventLoop
import Jobs
import Queue

/// The gate of operators' marks: a cancelled job ends, a paused broadcast waits, and a job replaces the one that is scheduled under its
/// id. Most queues have no marks.
@EventLoop
final class OperatorMarks: Gate {
  private let queue: JobQueue

  init(queue: JobQueue) { self.queue = queue }

  func concerns(_ delivery: Delivery) -> Bool { queue.control.mustScreen(queueIndex: delivery.claim.queueIndex) }

  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for (queueIndex, jobs) in Dictionary(grouping: deliveries, by: \.claim.queueIndex) { ask(jobs, queueIndex, answer) }
  }

  private func ask(
    _ deliveries: [Delivery], _ queueIndex: Int, _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void
  ) {
    let hasScheduledIDs = queue.control.has(.scheduledIDs, queueIndex: queueIndex)
    let jobs = deliveries.map { delivery in
      (id: delivery.id, replaces: hasScheduledIDs && delivery.replacesScheduled)
    }
    // After the settlements of this turn, which may schedule a job under the same id.
    EventLoop.atEndOfTurn { [queue] in
      queue.screen(jobs, queueIndex: queueIndex) { result in
        for (index, delivery) in deliveries.enumerated() {
          switch result {
          case .failure(let error):
            delivery.stillReplaces = jobs[index].replaces
            answer(delivery, .postpone(error))
          case .success(let marks):
            answer(delivery, OperatorMarks.answer(to: delivery, index < marks.count ? marks[index] : .go))
          }
        }
      }
    }
  }

  private static func answer(to delivery: Delivery, _ mark: JobQueue.Screening) -> GateAnswer {
    switch (mark, delivery.job.addressee) {
    case (.cancelled, _): .end(.cancelled(after: .untouched))
    case (.paused, .app): .end(.paused(after: .untouched))
    case (.go, _), (.paused, _): .go
    }
  }
}

extension Delivery {
  /// Whether the job replaces the one that is scheduled under its id. False if it was scheduled or tried before.
  fileprivate var replacesScheduled: Bool { job.id != nil && !state.isReleased && claim.envelope.attempts == 0 }
}
