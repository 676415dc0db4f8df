import EventLoop
import Jobs
import Operations
import Queue

/// Cancels a job, or runs it before its time, and reports the result.
@EventLoop
struct JobSteering {
  nonisolated static let cancel = PageAction("cancel")
  nonisolated static let runNow = PageAction("run-now")

  private static let stays = " The id stays cancelled for 24 h: a job that is enqueued with it is not sent."

  let context: DashboardContext

  func cancel(_ id: String) async throws(PageError) -> ActionOutcome {
    try JobSteering.outcome(try await refusingFaults(await context.fleet.cancel(id)), id)
  }

  static func outcome(_ cancellation: FleetQueues.Cancellation, _ id: String) throws(PageError) -> ActionOutcome {
    switch cancellation {
    case .cancelled(let record):
      let sent =
        record.accepted > 0 ? " APNs had accepted \(NumberText.count(record.accepted, "push", "pushes"))." : ""
      return .done("Cancelled \(id): nothing more is sent.\(sent)\(stays)")
    case .marked(let location):
      if case .unknown = location.place { return .done("\(id) was not found.\(stays)") }
      return .done("\(id) is \(JobPlaceText.now(location.place)). Its worker ends it before the next push.\(stays)")
    case .dead(let location), .ended(let location):
      throw .movedOn("The job has moved on: it is now \(JobPlaceText.now(location.place)).\(stays)")
    case .invalid: throw .notFound("No job can have the id \(id). Nothing was changed.")
    case .tooMany: return .refused("Too many ids are cancelled. Try again later.")
    }
  }

  func runNow(_ id: String) async throws(PageError) -> ActionOutcome {
    if let location = try await refusingFaults(await context.fleet.runNow(id)) {
      throw JobPlaceText.movedOn(location.place)
    }
    return .done("\(id) is at the front of its queue.")
  }
}
