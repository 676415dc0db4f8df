import EventLoop

/// A command on its way to the server of its slot.
@EventLoop
final class ClusterRequest {
  /// A command that is sent on so often is caught between servers that disagree.
  private static let maximumRedirections = 16

  let command: RedisCommand
  /// The script that the command calls.
  let script: RedisScript?
  /// Nil for a command without a key.
  let slot: Int?
  let timeout: Duration?
  private let completion: RedisConnection.Completion
  /// No redirection is followed after this; on ``Clock/monotonicNanoseconds``.
  private let deadline: UInt64
  private var redirections = 0

  init(
    _ command: RedisCommand, of script: RedisScript? = nil, slot: Int?, timeout: Duration?, patience: Duration,
    _ completion: @escaping RedisConnection.Completion
  ) {
    self.command = command
    self.script = script
    self.slot = slot
    self.timeout = timeout
    self.completion = completion
    deadline = Clock.monotonicNanoseconds &+ (timeout ?? patience).unsignedNanoseconds
  }

  func finish(_ result: Result<RedisValue, RedisError>) { completion(result) }

  /// Fails in a later turn, as a command that was sent does.
  func fail(_ reason: String) {
    EventLoop.atEndOfTurn { [completion] in completion(.failure(.notSent(reason))) }
  }

  /// Whether another attempt may follow.
  var mayContinue: Bool {
    redirections < ClusterRequest.maximumRedirections && Clock.monotonicNanoseconds < deadline
  }

  /// Whether servers seem to disagree: then the next attempt waits.
  var isBouncing: Bool { redirections > 3 }

  func countRedirection() { redirections += 1 }
}
