import EventLoop
public import Redis

/// How far a position is in an app's audience.
public struct AudienceProgress: Sendable, Equatable {
  /// Entries of the audience.
  public let size: Int
  /// Entries before the position.
  public let passed: Int

  package init(size: Int, passed: Int) {
    self.size = size
    self.passed = min(passed, size)
  }

  /// From 0 to 100; 100 for an empty audience.
  public var percent: Double { size == 0 ? 100 : Double(passed) * 100 / Double(size) }
}

extension Registry {
  /// The text of the position behind the last entry.
  private static let endText = "~"

  /// Returns how far a broadcast has come. `cursor` is the text of an ``AudienceCursor``, or `~`; nil at the start.
  ///
  /// Its cost does not depend on the size of the audience.
  public func audienceProgress(app: String, cursor: String?) async throws(RedisError) -> AudienceProgress {
    let commands = (0..<AudienceShard.count).map { RedisCommand("ZCARD", RegistryKeys.audience(app, shard: $0)) }
    let sizes = try await connection.replies(to: commands).map { $0.count ?? 0 }
    let size = sizes.reduce(0, +)
    if cursor == Registry.endText { return AudienceProgress(size: size, passed: size) }
    guard let position = cursor.flatMap(AudienceCursor.init) else { return AudienceProgress(size: size, passed: 0) }
    var passed = sizes[..<position.shard].reduce(0, +)
    if !position.lastEntry.isEmpty {
      var count = RedisCommand("ZLEXCOUNT", RegistryKeys.audience(app, shard: position.shard), "-")
      count.append(Array("[".utf8) + position.lastEntry)
      passed += try await connection.replies(to: [count])[0].count ?? 0
    }
    return AudienceProgress(size: size, passed: passed)
  }
}
