import Jobs
@testable import Queue

extension Fleet {
  /// Takes a dead worker's heartbeat away, as time would.
  func forgetHeartbeat(of worker: FleetWorker) async throws {
    try await redis("DEL", QueueKeys(queue: worker.queue).heartbeat(try worker.name()))
  }
}
