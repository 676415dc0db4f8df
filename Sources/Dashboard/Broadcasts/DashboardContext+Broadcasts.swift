import EventLoop
import Operations
import Queue

extension DashboardContext {
  /// Pauses, resumes or cancels a broadcast.
  func perform(
    _ action: PageAction, onBroadcast id: String, _ request: PageRequest
  ) async throws(PageError) -> ActionOutcome {
    let unknown = PageError.notFound("No broadcast with this id is known. Nothing was changed.")
    switch action {
    case .pause:
      let answer = try await refusingFaults(await fleet.pause(broadcast: id, by: request.operator.name))
      switch answer {
      case .paused: return .done("Paused \(id). Pages under way are finished, and its progress is kept.")
      case .ended: throw .movedOn("The broadcast has moved on: it has ended. Nothing was changed.")
      case .unknown: throw unknown
      case .tooMany: return .refused("Too many broadcasts are paused. Resume or cancel one of them first.")
      }
    case .resume:
      if try await refusingFaults(await fleet.resume(broadcast: id)) {
        return .done("Resumed \(id). It continues after its last page.")
      }
      guard let status = try await refusingFaults(await fleet.broadcast(id)) else { throw unknown }
      throw .movedOn("The broadcast has moved on: it is now \(status.entry.state.rawValue). Nothing was changed.")
    default:
      guard try await refusingFaults(await fleet.broadcast(id)) != nil else { throw unknown }
      return try await cancel(job: id)
    }
  }
}
