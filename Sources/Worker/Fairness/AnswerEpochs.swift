/// How quickly APNs has answered in one epoch.
struct AnswerTimes: Equatable {
  /// The pushes without an answer.
  enum Unanswered: Equatable {
    case none
    case recent
    /// One has waited so long that its answer would be slow.
    case overdue
  }

  /// Pushes that APNs answered.
  var count = 0
  /// Those whose answer was slow.
  var slowCount = 0
  var unanswered = Unanswered.none
}

/// How quickly the pushes of one app are answered, counted without a clock: time passes in epochs of ``ConcurrencyControl``'s
/// interval, and each push knows the epoch in which it was sent. Pure.
struct AnswerEpochs: Equatable {
  /// An answer is slow if the push was sent at least this many epochs before; with epochs of half a second, in 1 to 1.5 s.
  static let slowAge = 3

  /// The epoch of pushes that are sent now.
  private(set) var current = 0
  /// Pushes without an answer, by their epoch; those of the latest epochs.
  private var recent = Array(repeating: 0, count: slowAge)
  /// Pushes without an answer of earlier epochs.
  private var overdue = 0
  private var count = 0
  private var slowCount = 0
  /// Pushes of earlier epochs are not counted.
  private var countedSince = 0

  mutating func sent() {
    recent[current % AnswerEpochs.slowAge] += 1
  }

  /// A push of `epoch` has ended. Without an answer, it says nothing about how quickly APNs answers.
  mutating func ended(_ epoch: Int, isAnswered: Bool) {
    let isSlow = current - epoch >= AnswerEpochs.slowAge
    if !isSlow { recent[epoch % AnswerEpochs.slowAge] -= 1 }
    guard epoch >= countedSince else { return }
    if isSlow { overdue -= 1 }
    guard isAnswered else { return }
    count += 1
    if isSlow { slowCount += 1 }
  }

  /// Begins the next epoch and returns what was counted in the last one. `inFlight`: pushes without an answer.
  mutating func advance(inFlight: Int) -> AnswerTimes {
    defer { (count, slowCount) = (0, 0) }
    current += 1
    let place = current % AnswerEpochs.slowAge
    if current - AnswerEpochs.slowAge >= countedSince { overdue += recent[place] }
    recent[place] = 0
    let unanswered: AnswerTimes.Unanswered = inFlight == 0 ? .none : overdue > 0 ? .overdue : .recent
    return AnswerTimes(count: count, slowCount: slowCount, unanswered: unanswered)
  }

  /// Counts only pushes that are sent from now on. Call it between ``advance(inFlight:)`` and the next push.
  mutating func restart() {
    countedSince = current
    overdue = 0
  }
}
