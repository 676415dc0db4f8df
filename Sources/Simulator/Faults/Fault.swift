/// What a GOAWAY says.
struct Goaway: Equatable, Sendable {
  static let shutdown = #"{"reason":"Shutdown"}"#

  /// Whether the connection is closed at once.
  var isAbrupt = false
  /// An HTTP/2 error code.
  var code: UInt32 = 0
  /// Its data: JSON or text.
  var text = shutdown
  /// Whether one without data precedes it.
  var isTwice = false
}

/// A fault that was requested, and when it fires.
struct Fault: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// GOAWAY. If `abrupt`, the connection is closed at once, and the last `unanswered` pushes are processed but not
    /// answered. Otherwise all streams up to the last one are answered first.
    case goaway(Goaway, unanswered: Int)
    /// RST_STREAM with `code`, after processing the push or instead of it.
    case reset(code: UInt32, processed: Bool)
    /// The push is never answered.
    case stall(processed: Bool)
    /// The TCP connection is closed.
    case drop(processed: Bool)
    /// The push gets this answer and counts as refused.
    case answer(Answer)
  }

  let kind: Kind
  /// Fires at each push whose number is a multiple of this.
  var every = 1
  /// How many more times it fires; nil for no limit.
  var remaining: Int?
  /// Number of pushes before the first that counts.
  var after = 0
  /// Applies to pushes of this topic only; nil for all.
  var topic: [UInt8]?
  /// The number of the last connection that has it; nil for all.
  var lastConnection: Int?
  /// Requests of other kinds do not count.
  let target: RequestTarget.Kind
  /// Pushes seen.
  private(set) var seen = 0

  init(
    _ kind: Kind, every: Int = 1, count: Int? = nil, after: Int = 0, topic: String? = nil,
    on target: RequestTarget.Kind = .pushes
  ) {
    self.kind = kind
    self.every = max(1, every)
    remaining = count
    self.after = max(0, after)
    self.target = target
    self.topic = topic.map { Array($0.utf8) }
  }

  /// Counts a push. Returns the number of pushes until the fault fires, 0 for this one; nil if it never fires again.
  mutating func countPush() -> Int? {
    seen += 1
    guard remaining != 0 else { return nil }
    guard seen > after else { return after - seen + every }
    let position = (seen - after) % every
    guard position == 0 else { return every - position }
    remaining = remaining.map { $0 - 1 }
    return 0
  }
}
