import EventLoop
import JSON
import Queue
public import Redis

/// Reads the counters of the fleet.
public enum CounterHistory {
  /// How much is read.
  public enum Span: Sendable, Equatable {
    /// At most 72 hours of minutes.
    case minutes(Int)
    /// At most ``CounterLimits/hours``.
    case hours(Int)

    /// Seconds of one bucket.
    var seconds: Int64 {
      switch self {
      case .minutes: 60
      case .hours: 3600
      }
    }

    var count: Int {
      switch self {
      case .minutes(let count): min(max(1, count), CounterLimits.hours * 60)
      case .hours(let count): min(max(1, count), CounterLimits.hours)
      }
    }

    func key(_ number: Int64) -> String {
      switch self {
      case .minutes: CounterKeys.minute(number)
      case .hours: CounterKeys.hour(number)
      }
    }
  }

  /// Returns a bucket for each minute, or each hour, the earliest first. The last one is the current one, which is not complete.
  /// Where nothing was counted, the bucket is empty.
  ///
  /// Costs Redis one exchange for its time, and one for all buckets.
  @EventLoop
  public static func read(last span: Span, connection: RedisClient) async throws(RedisError) -> [CounterBucket] {
    let now = try await time(of: connection)
    let last = now / span.seconds
    let numbers = Array((last - Int64(span.count) + 1)...last)
    let replies = await connection.exchange(numbers.map { RedisCommand("HGETALL", span.key($0)) })
    var buckets: [CounterBucket] = []
    buckets.reserveCapacity(numbers.count)
    for (number, reply) in zip(numbers, replies) {
      var bucket = CounterBucket(start: number * span.seconds, seconds: span.seconds)
      let words = try reply.get().array ?? []
      for index in stride(from: 0, to: words.count - 1, by: 2) {
        if let field = words[index].string, let amount = words[index + 1].string { bucket.read(field, amount) }
      }
      buckets.append(bucket)
    }
    return buckets
  }

  /// Unix seconds.
  @EventLoop
  private static func time(of connection: RedisClient) async throws(RedisError) -> Int64 {
    let reply = try await connection.send(RedisCommand("TIME"))
    return reply.array?.first?.string?.integer(in: NumberRange.times) ?? Clock.unixMilliseconds / 1000
  }
}
