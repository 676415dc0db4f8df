/// How many pushes may be in flight, by how quickly APNs answers: a little more while it is quick, much less while it is
/// slow. Pure.
struct ConcurrencyLimit: Equatable {
  /// The limit falls to this fraction of itself.
  private static let decrease = 0.7
  /// The limit rises by this fraction of the maximum.
  private static let increaseDivisor = 16
  private static let minimumDivisor = 16
  /// The smallest minimum, unless the maximum is smaller.
  private static let smallestMinimum = 8

  let maximum: Int
  let minimum: Int
  private(set) var value: Int

  init(maximum: Int) {
    self.maximum = maximum
    minimum = min(maximum, max(ConcurrencyLimit.smallestMinimum, maximum / ConcurrencyLimit.minimumDivisor))
    value = maximum
  }

  enum Change: Equatable {
    case none
    case raised
    /// Pushes already sent say nothing about the new limit.
    case lowered
  }

  /// APNs is slow if most answers were, or if there was none and a push is overdue. While nothing is sent the limit rises, too.
  mutating func update(_ times: AnswerTimes) -> Change {
    let isSlow = times.count == 0 ? times.unanswered == .overdue : times.slowCount * 2 > times.count
    if isSlow { return set(max(minimum, Int(Double(value) * ConcurrencyLimit.decrease))) }
    guard times.count > 0 || times.unanswered == .none else { return .none }
    return set(min(maximum, value + max(1, maximum / ConcurrencyLimit.increaseDivisor)))
  }

  /// After an outage the fleet's backlog must not arrive all at once.
  mutating func restart() -> Change { set(minimum) }

  private mutating func set(_ new: Int) -> Change {
    defer { value = new }
    return new == value ? .none : new > value ? .raised : .lowered
  }
}
