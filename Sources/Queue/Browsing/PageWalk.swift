/// Walks over a page of dead letters, some of which are taken, and knows where the next page begins.
///
/// Letters that are taken leave the set, so only those that stay count in the position.
struct PageWalk {
  /// The indices of the letters to take.
  private(set) var wanted: [Int] = []
  private(set) var examined = 0
  /// Where the next page begins.
  private(set) var position: SortedPosition?
  /// Whether the letters that follow are too old.
  private(set) var isOver = false
  private let since: Int64?

  init(start: SortedPosition?, since: Int64?) {
    position = start
    self.since = since
  }

  /// Takes the next letter into account. Returns false if neither it nor those behind it are to be looked at.
  mutating func examine(score: String, isWanted: Bool) -> Bool {
    if let since, let value = Double(score), value < Double(since) {
      isOver = true
      return false
    }
    let stayed = isWanted ? 0 : 1
    let before = position?.score == score ? position?.skip ?? 0 : 0
    position = SortedPosition(score: score, skip: before + stayed)
    if isWanted { wanted.append(examined) }
    examined += 1
    return true
  }
}
