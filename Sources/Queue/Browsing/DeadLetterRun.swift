public import EventLoop
public import Redis

/// Carries out an operation on dead letters, page by page.
@EventLoop
public final class DeadLetterRun {
  /// How long it waits between pages: workers and other pages use the same Redis.
  private static let pause = Duration.milliseconds(5)

  public private(set) var operation: DeadLetterOperation
  private let connection: RedisClient
  private let operations: DeadLetterOperations
  private let now: @Sendable () -> Int64

  /// `operation` is stored already, and belongs to this process.
  public init(
    _ operation: DeadLetterOperation, connection: RedisClient,
    now: @escaping @Sendable () -> Int64 = { Clock.unixMilliseconds }
  ) {
    self.operation = operation
    self.connection = connection
    operations = DeadLetterOperations(connection: connection)
    self.now = now
  }

  /// Works until all is done, somebody stops it, or Redis fails. A fault is stored, if Redis can be reached.
  public func run() async {
    do {
      while operation.phase == .running {
        let step = try await nextStep()
        operation.add(step, now: now())
        guard try await store() else { return }
        try? await Task.sleep(for: DeadLetterRun.pause)
      }
    } catch {
      operation.fail("\(error)")
      operation.updatedAt = now()
      _ = try? await operations.save(operation)
    }
  }

  private func nextStep() async throws(RedisError) -> BulkStep {
    let letters = DeadLetters(queue: operation.queues[operation.queueIndex], connection: connection)
    do {
      return try await letters.step(operation.verb, operation.filter, from: operation.position)
    } catch  where error.isWrongType {
      // Another program's key: there are no dead letters.
      return BulkStep()
    }
  }

  /// Returns false if the operation is somebody else's now.
  private func store() async throws(RedisError) -> Bool {
    switch try await operations.save(operation) {
    case .goOn: return true
    case .leave: return false
    case .stop:
      guard operation.phase == .running else { return true }
      operation.phase = .stopped
      return try await operations.save(operation) != .leave
    }
  }
}
