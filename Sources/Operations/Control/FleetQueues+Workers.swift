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
        FleetQueues.drain(
          control: keys.control, drained: keys.drained, workers: keys.workers, worker: worker, verb: verb))
      if answer.integer == 1 { isKnown = true }
    }
    return isKnown
  }

  /// Changes whether a worker is drained. `verb`: `drain` or `undrain`. Returns 1, or 0 if the worker is not one of the queue.
  private static let drain = RedisScript(
    keys: ["control", "drained", "workers"], arguments: ["worker", "verb"],
    """
    \(ControlScripts.changing)
    if verb == 'drain' then
      if redis.call('SISMEMBER', workers, worker) == 0 then return 0 end
      redis.call('PERSIST', drained)
      redis.call('SADD', drained, worker)
      change(control, 'D', '')
      return 1
    end
    local count = redis.call('SCARD', drained)
    if redis.call('SREM', drained, worker) == 0 then return 0 end
    if count == 1 then change(control, '', 'D') else change(control, 'D', '') end
    return 1
    """)
}
