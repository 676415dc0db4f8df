/// One thing that goes wrong on demand, and when.
struct Fault: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// GOAWAY. Abrupt: the connection is closed with it, and the last `unanswered` pushes were processed but stay
    /// without an answer. Otherwise everything up to the last stream is answered first.
    case goaway(abrupt: Bool, unanswered: Int)
    /// RST_STREAM with `code`, after the push was processed or instead.
    case reset(code: UInt32, processed: Bool)
    /// No answer, ever.
    case stall(processed: Bool)
    /// The TCP connection is closed.
    case drop(processed: Bool)
    /// Another answer; the push counts as refused.
    case answer(Answer)
  }

  let kind: Kind
  /// Every how many pushes.
  var every = 1
  /// How many times at most; nil without end.
  var remaining: Int?
  /// Pushes that are let through first.
  var after = 0
  /// Pushes seen.
  private(set) var seen = 0

  init(_ kind: Kind, every: Int = 1, count: Int? = nil, after: Int = 0) {
    self.kind = kind
    self.every = max(1, every)
    remaining = count
    self.after = max(0, after)
  }

  /// Counts a push. 0: it fires now; n: it will after n more; nil: never again.
  mutating func pushesUntilFiring() -> Int? {
    seen += 1
    guard remaining != 0 else { return nil }
    guard seen > after else { return after - seen + every }
    let position = (seen - after) % every
    guard position == 0 else { return every - position }
    remaining = remaining.map { $0 - 1 }
    return 0
  }
}
