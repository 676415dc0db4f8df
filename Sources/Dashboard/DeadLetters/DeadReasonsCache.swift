import EventLoop
import Operations
import Queue
import Redis

/// The reasons of the newest dead letters, counted again every few seconds at most, for any number of browsers.
@EventLoop
final class DeadReasonsCache {
  /// Letters of a queue that are looked at.
  nonisolated static let newest = 1000
  /// Milliseconds.
  private static let maximumAge: Int64 = 5000

  private let connection: RedisClient
  private var known: [String: (reasons: DeadReasons, at: Int64)] = [:]

  init(connection: RedisClient) {
    self.connection = connection
  }

  func reasons(of queues: [String], now: Int64) async throws(RedisError) -> DeadReasons {
    var sum = DeadReasons()
    for queue in queues {
      if let entry = known[queue], (0...DeadReasonsCache.maximumAge).contains(now - entry.at) {
        sum.add(entry.reasons)
        continue
      }
      let reasons = try await DeadReasons.read(queue, newest: DeadReasonsCache.newest, from: connection)
      known[queue] = (reasons, now)
      sum.add(reasons)
    }
    return sum
  }
}
