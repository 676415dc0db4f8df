import EventLoop
import JSON
import Redis
import Telemetry

/// By how much this machine's clock is ahead of the clock of Redis: the gauge `martlet_redis_clock_offset_seconds`.
@EventLoop
final class RedisClock {
  private let connection: RedisClient
  /// The offset at the last answer; nil if no answer is recent enough to show.
  private var offset: Double?

  init(connection: RedisClient, metrics: Metrics) {
    self.connection = connection
    metrics.gauge(
      "martlet_redis_clock_offset_seconds",
      help: "the clock of this machine minus the clock of Redis; read every 5 s",
      worry: "it is not near 0"
    ) { [weak self] in
      guard let self, connection.isReady else { return nil }
      return offset
    }
  }

  func read() {
    let sentAt = Clock.unixMilliseconds
    connection.send(RedisCommand("TIME")) { [weak self] result in
      guard case .success(let time) = result, let parts = time.array, parts.count == 2,
        let seconds = parts[0].string?.integer(in: NumberRange.times),
        let microseconds = parts[1].string?.integer(in: 0...999_999)
      else {
        self?.offset = nil
        return
      }
      self?.offset = RedisClock.offset(
        sentAt: sentAt, receivedAt: Clock.unixMilliseconds, redis: Double(seconds) + Double(microseconds) / 1_000_000)
    }
  }

  /// `sentAt` and `receivedAt` are in unix milliseconds, `redis` and the result in seconds. The answer is taken to be from
  /// the middle of the exchange.
  static func offset(sentAt: Int64, receivedAt: Int64, redis: Double) -> Double {
    Double(sentAt + receivedAt) / 2000 - redis
  }
}
