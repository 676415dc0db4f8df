import Queue
import Redis

/// A page of a sorted set.
public struct BrowsedPage: Sendable, Equatable {
  public var jobs: [BrowsedJob]
  /// Members that were read for it, with those that the filter leaves out.
  public var examined: Int
  /// Where the next page begins; nil after the last member.
  public var next: SortedPosition?

  static let empty = BrowsedPage(jobs: [], examined: 0, next: nil)
}

extension BrowsedPage {
  /// Reads the answer of ``BrowsingScripts/browseSet``.
  init(_ value: RedisValue) {
    guard let parts = value.array, parts.count == 4, let score = parts[0].string, let skip = parts[1].count,
      let examined = parts[2].count, let jobs = parts[3].array
    else {
      self = .empty
      return
    }
    self.init(
      jobs: jobs.compactMap(BrowsedJob.init), examined: examined,
      next: score.isEmpty ? nil : SortedPosition(score: score, skip: skip))
  }
}
