import EventLoop
import Redis
import Telemetry

// Runs settlements, and what they leave to be done.
extension Registry {
  /// Seconds after which an entry of a journal belongs to a process that has ended.
  private static let overdueSeconds = 60

  /// How often a process looks for such entries.
  private static let repairInterval = Duration.seconds(60)

  /// Carries out an operation on one token. Throws ``conflict`` and errors with WRONGTYPE.
  func settle(_ token: String, _ operation: DeviceOperation, _ steps: StepRunner) async throws(RedisError)
    -> Settlement.Outcome
  {
    guard let outcome = try await settleAll([(token, operation)], steps).first else { throw Registry.conflict }
    return outcome
  }

  /// Carries out operations in batches, and throws if one of them was not completed.
  func settleAll(
    _ operations: [(token: String, operation: DeviceOperation)], _ steps: StepRunner
  ) async throws(RedisError) -> [Settlement.Outcome] {
    let outcomes = try await settle(operations, steps)
    for (outcome, (token, _)) in zip(outcomes, operations) {
      if let error = outcome.error(token) { throw error }
    }
    return outcomes
  }

  /// Carries out operations in batches. Throws the first error of Redis after all of its batch have ended.
  func settle(
    _ operations: [(token: String, operation: DeviceOperation)], _ steps: StepRunner
  ) async throws(RedisError) -> [Settlement.Outcome] {
    repairIfDue(steps)
    var outcomes: [Settlement.Outcome] = []
    for start in stride(from: 0, to: operations.count, by: Registry.maximumBatch) {
      let batch = operations[start..<min(start + Registry.maximumBatch, operations.count)]
      let results = await steps.run(batch.map { settlement($0.token, $0.operation) })
      for result in results { outcomes.append(try result.get()) }
    }
    return outcomes
  }

  private func settlement(_ token: String, _ operation: DeviceOperation) -> Settlement {
    Settlement(
      token, operation, maximumDevices: maximumDevices, makesEvents: events != nil,
      nonce: UInt64.random(in: .min ... .max))
  }

  /// Completes the settlements of processes that ended, in the background. The next operation after an interval does it
  /// again.
  private func repairIfDue(_ steps: StepRunner) {
    let now = ContinuousClock.now
    if let repairedAt, now - repairedAt < Registry.repairInterval { return }
    repairedAt = now
    Task { @EventLoop in
      do throws(RedisError) {
        let count = try await repair(steps, after: Registry.overdueSeconds)
        if count > 0 {
          log.info("completed changes to devices that other processes had begun", ["devices": .init(count)])
        }
      } catch {
        log.debug("changes to devices could not be completed", ["error": .init("\(error)")])
      }
    }
  }

  /// Adds the tokens of journal entries that are older than `seconds` to the sets that their metadata names. Returns
  /// their number.
  func repair(_ steps: StepRunner, after seconds: Int) async throws(RedisError) -> Int {
    var count = 0
    for shard in 0..<AudienceShard.count {
      let journal = RegistryKeys.journal(shard: shard)
      let arguments = [String(seconds), String(Registry.maximumBatch)]
      let entries = try await connection.run(StepScripts.overdue, keys: [journal], arguments: arguments).array ?? []
      let tokens = entries.compactMap { $0.string?.prefix { $0 != " " } }.map { String($0) }
      guard !tokens.isEmpty else { continue }
      for result in await steps.run(tokens.map { settlement($0, .repair) }) {
        guard try result.get().isPublished else { throw Registry.conflict }
      }
      var remove = RedisCommand("ZREM", journal)
      for entry in entries.compactMap(\.bytes) { remove.append(entry) }
      _ = try await connection.send(remove)
      count += tokens.count
    }
    return count
  }
}

extension Settlement.Outcome {
  /// The error of an operation on `token` that was not completed.
  func error(_ token: String) -> RedisError? {
    switch end {
    case .unchanged, .written, .full: nil
    case .conflict: Registry.conflict
    case .misfit(let place):
      .reply(RedisReplyError(message: "WRONGTYPE \(place.key(of: token)) is not a \(place.type)"))
    }
  }
}
