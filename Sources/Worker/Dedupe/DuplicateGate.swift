import EventLoop
import Jobs
import Queue
import Redis

/// The gate of `dedupe`: of the jobs of a queue and an app with one value, only the first within its window passes. Redis holds its
/// nonce under the value. The app is what the job says: which devices it has, and which app is the default, is not known here.
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
  private let queues: [QueueKeys]

  init(connection: RedisClient, queues: [String]) {
    self.connection = connection
    self.queues = queues.map(QueueKeys.init(queue:))
  }

  func concerns(_ delivery: Delivery) -> Bool { delivery.job.dedupe != nil }

  func ask(_ deliveries: [Delivery], _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void) {
    for delivery in deliveries {
      guard let value = delivery.job.dedupe, let nonce = delivery.claim.envelope.nonce else {
        answer(delivery, .go)
        continue
      }
      let key = queues[delivery.claim.queueIndex].dedupe(value, app: delivery.job.addressedApp)
      // What 2.0.0 has kept counts, too. This can go once no worker of 2.0.0 has run for 24 hours.
      connection.send(RedisCommand("GET", QueueKeys.formerDedupe(value))) { [self] former in
        if case .success(.null) = former { return reserve(key, nonce, delivery, answer) }
        DuplicateGate.answer(to: delivery, former, nonce, answer)
      }
    }
  }

  private func reserve(
    _ key: String, _ nonce: String, _ delivery: Delivery, _ answer: @escaping @EventLoop (Delivery, GateAnswer) -> Void
  ) {
    let window = delivery.job.pusher == nil ? DuplicateGate.window : DuplicateGate.windowOfPushers
    connection.send(DuplicateGate.reserve(value: key, nonce: nonce, ttl: window.milliseconds)) {
      DuplicateGate.answer(to: delivery, $0, nonce, answer)
    }
  }

  /// `holder`: the nonce of the first job with the value.
  private static func answer(
    to delivery: Delivery, _ holder: Result<RedisValue, RedisError>, _ nonce: String,
    _ answer: @EventLoop (Delivery, GateAnswer) -> Void
  ) {
    switch holder {
    case .success(let holder) where holder.string == nonce: answer(delivery, .go)
    case .success: answer(delivery, .end(JobOutcome(status: .duplicate, exit: .acknowledge)))
    case .failure(let error): answer(delivery, .postpone(error))
    }
  }
}
