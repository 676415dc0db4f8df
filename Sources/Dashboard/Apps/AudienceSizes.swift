import EventLoop
import Redis
import Registry

/// The number of devices that are registered for each bundle id.
@EventLoop
final class AudienceSizes {
  /// Bundle ids whose audience is counted, at most.
  static let maximumCounted = 50
  /// A page that is refreshed every few seconds does not count again each time. Milliseconds.
  private static let lifetime: Int64 = 30_000

  private var counts: [String: (count: Int64, at: Int64)] = [:]

  /// Returns the sizes of the first ``maximumCounted`` audiences, counted lately.
  func sizes(
    of bundleIDs: [String], from connection: RedisClient, now: Int64
  ) async throws(RedisError) -> [String: Int64] {
    let wanted = Array(bundleIDs.prefix(AudienceSizes.maximumCounted))
    counts = counts.filter { now - $0.value.at < AudienceSizes.lifetime }
    let missing = wanted.filter { counts[$0] == nil }
    let commands = missing.flatMap { id in
      (0..<AudienceShard.count).map { RedisCommand("ZCARD", RegistryKeys.audience(id, shard: $0)) }
    }
    let replies = try await connection.replies(to: commands)
    for (index, id) in missing.enumerated() {
      let shards = replies[(index * AudienceShard.count)..<((index + 1) * AudienceShard.count)]
      counts[id] = (shards.reduce(0) { $0 + ($1.integer ?? 0) }, now)
    }
    var sizes: [String: Int64] = [:]
    for id in wanted { sizes[id] = counts[id]?.count }
    return sizes
  }
}
