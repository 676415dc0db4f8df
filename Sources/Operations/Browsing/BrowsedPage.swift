/// A page of a sorted set.
public struct BrowsedPage: Sendable, Equatable {
  public var jobs: [BrowsedJob]
  /// Members that were read for it, with those that the filter leaves out.
  public var examined: Int
  /// Where the next page begins; nil after the last member.
  public var next: SortedPosition?

  static let empty = BrowsedPage(jobs: [], examined: 0, next: nil)
}
