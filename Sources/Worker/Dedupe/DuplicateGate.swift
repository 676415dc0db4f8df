import EventLoop
import Jobs
import Queue
import Redis

/// The gate of `dedupe`: of the jobs with one value, only the first within its window passes. Redis holds its nonce under the value.
@EventLoop
final class DuplicateGate: Gate {
  private static let window = Duration.seconds(24 * 3600)
  /// Of jobs that a push gateway makes for whoever asks: what strangers make Redis keep lives for minutes.
  private static let windowOfPushers = Duration.seconds(300)
  /// Returns the nonce of the first job. DEL takes no memory: the script's first write succeeds even if Redis is full.
  ///
  /// `ttl`: how long the value is kept, in ms.
  private static let reserveScript = RedisScript(
    keys: ["value"], arguments: ["nonce", "ttl"],
    """
    local holder = redis.call('GET', value)
    if holder then return holder end
    redis.call('DEL', value)
    redis.call('SET', value, nonce, 'PX', ttl)
    return nonce
    """)

  private static func reserve(value: String, nonce: String, ttl: Int64) -> RedisCall {
    reserveScript.call(keys: value, arguments: nonce, ttl)
  }

  private let connection: RedisClient

  init(connection: RedisClient) { self.connection = connection }

  func concerns(_ delivery: Delivery) -> Bool { delivery.job.dedupe != nil }

  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for delivery in deliveries {
      guard let value = delivery.job.dedupe, let nonce = delivery.claim.envelope.nonce else {
        answer(delivery, .go)
        continue
      }
      let window = delivery.job.pusher == nil ? DuplicateGate.window : DuplicateGate.windowOfPushers
      let call = DuplicateGate.reserve(value: QueueKeys.dedupe(value), nonce: nonce, ttl: window.milliseconds)
      connection.send(call) { result in
        switch result {
        case .success(let holder) where holder.string == nonce: answer(delivery, .go)
        case .success: answer(delivery, .end(JobOutcome(status: .duplicate, exit: .acknowledge)))
        case .failure(let error): answer(delivery, .postpone(error))
        }
      }
    }
  }
}
