import EventLoop
import Jobs
import Queue

/// Cancels a job, or runs it before its time, and reports the result.
@EventLoop
struct JobSteering {
  nonisolated static let cancel = PageAction("cancel")
  nonisolated static let runNow = PageAction("run-now")

  let context: DashboardContext

  private var control: JobControl { JobControl(queues: context.queues, connection: context.connection) }

  func cancel(_ id: String) async throws(PageError) -> ActionOutcome {
    try JobSteering.outcome(try await refusingFaults(await context.cancellations.cancel(id)), id)
  }

  static func outcome(_ cancellation: JobControl.Cancellation, _ id: String) throws(PageError) -> ActionOutcome {
    switch cancellation {
    case .cancelled(let record):
      let sent =
        record.accepted > 0 ? " APNs had accepted \(NumberText.count(Int64(record.accepted), "push", "pushes"))." : ""
      return .done("Cancelled \(id): nothing more is sent.\(sent)")
    case .marked(let location) where location.mayWait:
      return .done(
        "\(id) was not found among the first and last \(QueueLimits.lookElements) jobs of its queue. It is marked: a worker that takes a job with this id ends it."
      )
    case .marked(let location) where location.place == .unknown(isWaitingPossible: false):
      return .done("\(id) was not found. If a worker is just taking it, it ends before the next push: look again soon.")
    case .marked(let location):
      return .done(
        "\(id) is \(JobPlaceText.now(location.place)). It is marked: its worker ends it before the next push. This page shows its record then."
      )
    case .dead(let location), .ended(let location): throw JobPlaceText.movedOn(location.place)
    case .unknown: throw .notFound("No job and no record has the id \(id). Nothing was changed.")
    case .tooMany:
      return .refused("Too many cancelled jobs wait for their workers. Nothing was changed; try again later.")
    }
  }

  func runNow(_ id: String) async throws(PageError) -> ActionOutcome {
    switch try await refusingFaults(await control.runNow(id)) {
    case .done: return .done("\(id) is at the front of its queue.")
    case .notDue(let location): throw JobPlaceText.movedOn(location.place)
    }
  }
}
