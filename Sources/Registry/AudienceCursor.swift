/// A place in the walk through an app's audience: behind `last` in `shard`. Orders like its text.
public struct AudienceCursor: Sendable, Equatable, CustomStringConvertible {
  public static let start = AudienceCursor(shard: 0, last: "")
  /// The text of a finished walk; behind every cursor.
  public static let end = "~"

  let shard: Int
  /// The last token seen; empty at the start of a shard.
  let last: String

  init(shard: Int, last: String) {
    self.shard = shard
    self.last = last
  }

  /// From its text; nil for the end of the walk, or text that is none.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 2, let shard = Int(parts[0]),
      (0..<RegistryKeys.shardCount).contains(shard)
    else { return nil }
    self.init(shard: shard, last: String(parts[1]))
  }

  public var description: String { (shard < 10 ? "0" : "") + "\(shard)/\(last)" }

  /// The start of the next shard; nil behind the last.
  var nextShard: AudienceCursor? {
    shard + 1 < RegistryKeys.shardCount ? AudienceCursor(shard: shard + 1, last: "") : nil
  }
}
