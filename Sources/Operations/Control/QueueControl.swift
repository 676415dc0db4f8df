public import EventLoop
public import Queue
public import Redis

/// Pauses and resumes a queue.
///
/// The state is in Redis, where the claiming script reads it: once ``pause(by:reason:)`` has returned, no worker takes a
/// job of the queue. Jobs in flight continue.
@EventLoop
public struct QueueControl {
  public let keys: QueueKeys
  private let connection: RedisClient

  public init(queue: String, connection: RedisClient) {
    keys = QueueKeys(queue: queue)
    self.connection = connection
  }

  /// Returns the pause of the queue; nil unless it is paused.
  public func currentPause() async throws(RedisError) -> QueuePause? {
    try await connection.send(RedisCommand("GET", keys.control)).contents.flatMap(QueuePause.init(control:))
  }

  /// Pauses the queue. Returns the pause that is in effect: the earlier one, if the queue was paused already.
  @discardableResult
  public func pause(by operatorName: String, reason: String) async throws(RedisError) -> QueuePause {
    let pause = QueuePause(since: Clock.unixMilliseconds, by: operatorName, reason: reason)
    let answer = try await connection.send(OperationsScripts.pause(control: keys.control, reason: pause.json()))
    return answer.contents.flatMap(QueuePause.init(control:)) ?? pause
  }

  /// Resumes the queue. Returns whether it was paused.
  @discardableResult
  public func resume() async throws(RedisError) -> Bool {
    try await connection.send(OperationsScripts.resume(control: keys.control)).integer == 1
  }
}
