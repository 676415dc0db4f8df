import Queue
public import Redis

/// Drains workers: a drained worker claims nothing more, finishes what it has, and keeps running.
extension FleetQueues {
  /// Asks a worker to claim nothing more. Returns false if no queue has a worker of this name.
  @discardableResult
  public func drain(_ worker: String) async throws(RedisError) -> Bool { try await change(worker, "drain") }

  /// Lets a worker claim again. Returns false if it was not drained.
  @discardableResult
  public func undrain(_ worker: String) async throws(RedisError) -> Bool { try await change(worker, "undrain") }

  private func change(_ worker: String, _ verb: String) async throws(RedisError) -> Bool {
    var isKnown = false
    for keys in keys {
      let answer = try await connection.send(
        OperationsScripts.drain(
          control: keys.control, drained: keys.drained, workers: keys.workers, worker: worker, verb: verb))
      if answer.integer == 1 { isKnown = true }
    }
    return isKnown
  }
}
