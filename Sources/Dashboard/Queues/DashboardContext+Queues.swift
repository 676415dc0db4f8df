import EventLoop
import Operations
import Queue

extension DashboardContext {
  /// Pauses or resumes a queue.
  func perform(
    _ action: PageAction, onQueue queue: String, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    let control = QueueControl(queue: queue, connection: connection)
    guard action == .pause else {
      return try await refusingFaults(await control.resume())
        ? .done("Resumed \(queue). Workers claim its jobs again within a second.")
        : .refused("\(queue) was not paused. Nothing was changed.")
    }
    if let pause = try await refusingFaults(await control.currentPause()) {
      return .refused("\(queue) was paused before, by \(pause.author). Nothing was changed.")
    }
    _ = try await refusingFaults(await control.pause(by: request.operator.name, reason: request.field("reason") ?? ""))
    return .done("Paused \(queue). Workers claim no more of its jobs. Jobs in flight are finished.")
  }
}
