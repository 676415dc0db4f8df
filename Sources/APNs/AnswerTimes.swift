import EventLoop

/// How quickly APNs has answered since the last look.
public struct AnswerTimes: Sendable, Equatable {
  /// The pushes without an answer.
  public enum Unanswered: Sendable, Equatable {
    case none
    case recent
    /// One has waited longer than ``APNsConfiguration/Limits/slowAnswer``.
    case overdue
  }

  /// Pushes that APNs answered.
  public var count: Int
  /// Those whose answer took longer than ``APNsConfiguration/Limits/slowAnswer``.
  public var slowCount: Int
  public var unanswered: Unanswered

  public init(count: Int = 0, slowCount: Int = 0, unanswered: Unanswered = .none) {
    self.count = count
    self.slowCount = slowCount
    self.unanswered = unanswered
  }
}

/// Counts answers. Times are nanoseconds on CLOCK_MONOTONIC.
struct AnswerTimer {
  private let slowNanoseconds: UInt64
  /// Pushes sent before are not counted.
  private var countedSince: UInt64 = 0
  private var times = AnswerTimes()

  init(slowAnswer: Duration) {
    slowNanoseconds = slowAnswer.unsignedNanoseconds
  }

  mutating func answered(sentAt: UInt64, now: UInt64) {
    guard sentAt >= countedSince else { return }
    times.count += 1
    if now > sentAt, now - sentAt > slowNanoseconds { times.slowCount += 1 }
  }

  /// Returns what was counted since the last call. `oldest`: when the oldest push without an answer was sent.
  mutating func take(oldest: UInt64?, now: UInt64) -> AnswerTimes {
    defer { times = AnswerTimes() }
    guard let oldest else { return times }
    let isOverdue = oldest >= countedSince && now > oldest && now - oldest > slowNanoseconds
    times.unanswered = isOverdue ? .overdue : .recent
    return times
  }

  /// Counts only pushes that are sent from now on.
  mutating func restart(now: UInt64) {
    countedSince = now
    times = AnswerTimes()
  }
}

extension AnswerTimes {
  /// The sum; a push that is overdue anywhere is overdue.
  func adding(_ other: AnswerTimes) -> AnswerTimes {
    var sum = AnswerTimes(count: count + other.count, slowCount: slowCount + other.slowCount)
    switch (unanswered, other.unanswered) {
    case (.overdue, _), (_, .overdue): sum.unanswered = .overdue
    case (.none, .none): sum.unanswered = .none
    default: sum.unanswered = .recent
    }
    return sum
  }
}
