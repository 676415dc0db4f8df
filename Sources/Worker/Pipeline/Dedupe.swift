import Queue
import EventLoop
import Jobs
import Redis

/// Lets one job through for each `dedupe` value within 24 hours: the one whose nonce holds the value.
@EventLoop
struct Dedupe {
  enum Answer {
    case first
    case duplicate
    case fault(RedisError)
  }

  private static let window = Duration.seconds(24 * 3600)
  /// Answers the holder: whoever stood there, or the caller. The first write takes no memory, so that it runs when Redis is
  /// full.
  private static let script = RedisScript(
    """
    local holder = redis.call('GET', KEYS[1])
    if holder then return holder end
    redis.call('DEL', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return ARGV[1]
    """)

  let connection: RedisConnection

  func claim(_ delivery: Delivery, _ completion: @escaping @EventLoop (Answer) -> Void) {
    guard let value = delivery.job.dedupe, let nonce = delivery.claim.envelope.nonce else { return completion(.first) }
    connection.call(Dedupe.script, keys: [QueueKeys.dedupe(value)]) { command in
      command.append(nonce)
      command.append(Dedupe.window.milliseconds)
    } _: { result in
      switch result {
      case .success(let holder): completion(holder.string == nonce ? .first : .duplicate)
      case .failure(let error): completion(.fault(error))
      }
    }
  }
}
