import Queue
import JSON

/// The position of a walk over dead letters that takes some of them.
///
/// Letters that are taken leave the set, so only those that stay count in the position.
struct PageWalk {
  /// Where the next page begins.
  private(set) var position: SortedPosition?
  /// Whether the letters that follow are too old.
  private(set) var isOver = false
  private let since: Int64?

  init(start: SortedPosition?, since: Int64?) {
    position = start
    self.since = since
  }

  /// Counts the next letter in the position. Returns false if the walk ends before it.
  mutating func examine(score: String, isTaken: Bool) -> Bool {
    if let since, let value = score.number(in: -Double.infinity...Double.infinity), value < Double(since) {
      isOver = true
      return false
    }
    let before = position?.score == score ? position?.skip ?? 0 : 0
    position = SortedPosition(score: score, skip: before + (isTaken ? 0 : 1))
    return true
  }
}
