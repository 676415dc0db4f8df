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
    let answer = try await connection.send(QueueControl.pause(control: keys.control, reason: pause.json()))
    return answer.contents.flatMap(QueuePause.init(control:)) ?? pause
  }

  /// Resumes the queue. Returns whether it was paused.
  @discardableResult
  public func resume() async throws(RedisError) -> Bool {
    try await connection.send(QueueControl.resume(control: keys.control)).integer == 1
  }
}

extension QueueControl {
  /// Pauses a queue, unless it is paused. `reason`: JSON of ``QueuePause``. Returns the control string.
  private static let pause = RedisScript(
    keys: ["control"], arguments: ["reason"],
    """
    \(ControlScripts.changing)
    local old = redis.call('GET', control)
    if old and string.find(old, '\(ControlScripts.pausedPattern)') then return old end
    return change(control, 'P', '', '\\n' .. reason)
    """)

  /// Resumes a queue. Returns 1, or 0 if the queue was not paused.
  private static let resume = RedisScript(
    keys: ["control"],
    """
    \(ControlScripts.changing)
    local old = redis.call('GET', control)
    if not old or not string.find(old, '\(ControlScripts.pausedPattern)') then return 0 end
    change(control, '', 'P', '')
    return 1
    """)
}
