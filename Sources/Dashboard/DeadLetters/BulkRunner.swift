import Crypto
import EventLoop
import Queue
import Redis
import Telemetry

/// Carries out operations on all dead letters that match, while pages show how far they are.
@EventLoop
final class BulkRunner {
  /// Operations that one process carries out at a time.
  private static let maximumRunning = 2

  /// Names this process in the operations that it carries out.
  private let owner = Secret.random()
  private let connection: RedisClient
  private let log: Log
  private var running: Set<String> = []
  /// Operations that are being stored.
  private var starting = 0

  let operations: DeadLetterOperations

  init(connection: RedisClient, log: Log) {
    self.connection = connection
    self.log = log
    operations = DeadLetterOperations(connection: connection)
  }

  /// Whether another operation can begin here.
  var isFree: Bool { running.count + starting < BulkRunner.maximumRunning }

  /// Stores an operation and begins it. Returns false if as many as may are running here.
  func start(
    _ verb: DeadLetterVerb, queues: [String], filter: DeadLetterFilter, by operatorName: String, now: Int64
  ) async throws(RedisError) -> Bool {
    guard isFree else { return false }
    // Before anything is waited for: another request may come meanwhile.
    starting += 1
    defer { starting -= 1 }
    try await operations.makeRoom()
    var total: Int64 = 0
    for queue in queues {
      total += try await connection.send(RedisCommand("ZCARD", QueueKeys(queue: queue).dead)).integer ?? 0
    }
    let operation = DeadLetterOperation(
      verb: verb, queues: queues, filter: filter, operatorName: operatorName, total: total, owner: owner, now: now)
    _ = try await operations.save(operation, isNew: true)
    run(operation)
    return true
  }

  /// Goes on with an operation that has ended before it was done. Returns false if another process was faster.
  func goOn(_ operation: DeadLetterOperation, now: Int64) async throws(RedisError) -> Bool {
    let previous = operation.owner
    let operation = operation.resumed(by: owner, now: now)
    guard try await operations.save(operation, previousOwner: previous) == .goOn else { return false }
    run(operation)
    return true
  }

  private func run(_ operation: DeadLetterOperation) {
    running.insert(operation.id)
    Task { @EventLoop [weak self, connection, log] in
      let run = DeadLetterRun(operation, connection: connection)
      await run.run()
      self?.running.remove(operation.id)
      log.info(
        "operation on dead letters ended",
        [
          "action": .init(operation.verb.rawValue), "phase": .init(run.operation.phase.rawValue),
          "done": .init(run.operation.done), "reason": .init(run.operation.fault ?? ""),
        ])
    }
  }
}
