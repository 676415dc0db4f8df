import EventLoop
import Jobs
import Operations
import Queue

extension DashboardContext {
  /// Cancels a job.
  func cancel(job id: String) async throws(PageError) -> ActionOutcome {
    let stays = " The id stays cancelled for 24 h: a job that is enqueued with it is not sent."
    switch try await refusingFaults(await fleet.cancel(id)) {
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

  /// Runs a job before its time.
  func runNow(job id: String) async throws(PageError) -> ActionOutcome {
    if let location = try await refusingFaults(await fleet.runNow(id)) {
      throw JobPlaceText.movedOn(location.place)
    }
    return .done("\(id) is at the front of its queue.")
  }
}
