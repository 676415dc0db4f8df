import EventLoop
import Operations
import Queue

/// Pauses and resumes queues.
@EventLoop
struct QueueSteering {
  nonisolated static let pause = PageAction("pause")
  nonisolated static let resume = PageAction("resume")

  let context: DashboardContext

  func perform(_ action: PageAction, _ queue: String, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let control = QueueControl(queue: queue, connection: context.connection)
    guard action == QueueSteering.pause else {
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
