import EventLoop
import Operations
import Queue

/// Pauses, resumes and cancels broadcasts.
@EventLoop
struct BroadcastSteering {
  nonisolated static let pause = PageAction("pause")
  nonisolated static let resume = PageAction("resume")
  nonisolated static let cancel = PageAction("cancel")

  nonisolated static let actions = [pause, resume, cancel]

  let context: DashboardContext

  func perform(_ action: PageAction, _ id: String, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    switch action {
    case BroadcastSteering.pause:
      let answer = try await refusingFaults(await context.fleet.pause(broadcast: id, by: request.operator.name))
      switch answer {
      case .paused: return .done("Paused \(id). Pages under way are finished, and its progress is kept.")
      case .ended: throw .movedOn("The broadcast has moved on: it has ended. Nothing was changed.")
      case .unknown: throw BroadcastSteering.unknown
      case .tooMany: return .refused("Too many broadcasts are paused. Resume or cancel one of them first.")
      }
    case BroadcastSteering.resume:
      if try await refusingFaults(await context.fleet.resume(broadcast: id)) {
        return .done("Resumed \(id). It continues after its last page.")
      }
      guard let status = try await refusingFaults(await context.fleet.broadcast(id)) else {
        throw BroadcastSteering.unknown
      }
      throw .movedOn("The broadcast has moved on: it is now \(status.entry.state.rawValue). Nothing was changed.")
    default:
      guard try await refusingFaults(await context.fleet.broadcast(id)) != nil else { throw BroadcastSteering.unknown }
      return try await JobSteering(context: context).cancel(id)
    }
  }

  private static let unknown = PageError.notFound("No broadcast with this id is known. Nothing was changed.")
}
