/// Tells a few dead tokens from a wrong bundle id or environment, which makes every token look bad.
struct RemovalGuard {
  /// Answers remembered per route.
  static let windowAnswers = 100
  /// Fewer say nothing.
  static let minimumAnswers = 50

  private var isSuspect = [Bool](repeating: false, count: windowAnswers)
  private var position = 0
  private(set) var answers = 0
  private(set) var suspects = 0

  /// More than half of the last answers refused the token.
  var isTripped: Bool {
    answers >= RemovalGuard.minimumAnswers && suspects * 2 > answers
  }

  mutating func record(isSuspect suspect: Bool) {
    if answers == RemovalGuard.windowAnswers {
      suspects -= isSuspect[position] ? 1 : 0
    } else {
      answers += 1
    }
    isSuspect[position] = suspect
    suspects += suspect ? 1 : 0
    position += 1
    if position == RemovalGuard.windowAnswers { position = 0 }
  }
}
