import Jobs
@testable import Queue

extension Fleet {
  /// Removes the heartbeat of a dead worker, as its expiration would.
  package func forgetHeartbeat(of worker: FleetWorker) async throws {
    try await redis("DEL", QueueKeys(queue: worker.queue).heartbeat(try worker.name()))
  }
}
