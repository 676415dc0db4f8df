/// The state of one request and its answer. Reused for later requests.
struct PushStream {
  /// Bytes of a body that are kept. A longer body is refused in any case, so the rest is only counted.
  static let keptBody = 5121

  var head = RequestHead()
  private(set) var body: [UInt8] = []
  private(set) var bodyCount = 0
  /// The part of the answer's body that was not sent yet.
  var answerBody: ArraySlice<UInt8> = []
  /// The answer if it was sent after the head.
  var earlyAnswer: Answer?

  mutating func receive(_ bytes: UnsafeRawBufferPointer) {
    let kept = min(bytes.count, PushStream.keptBody - body.count)
    if kept > 0 { body.append(contentsOf: bytes.prefix(kept)) }
    bodyCount += bytes.count
  }

  mutating func removeAll() {
    head.removeAll()
    body.removeAll(keepingCapacity: true)
    bodyCount = 0
    answerBody = []
    earlyAnswer = nil
  }
}

/// Answers that are delayed by the added round-trip time, in the order in which they are due.
struct DelayedAnswers {
  struct Item {
    let answer: Answer
    let stream: Int32
    let pushID: [UInt8]
    /// Monotonic nanoseconds.
    let due: UInt64
  }

  private var items: [Item] = []
  private var first = 0

  var nextDue: UInt64? { first < items.count ? items[first].due : nil }

  mutating func append(_ answer: Answer, _ stream: Int32, pushID: ArraySlice<UInt8>, due: UInt64) {
    items.append(Item(answer: answer, stream: stream, pushID: Array(pushID), due: due))
  }

  mutating func popDue(at now: UInt64) -> Item? {
    guard let due = nextDue, due <= now else { return nil }
    defer {
      first += 1
      if first == items.count {
        items.removeAll(keepingCapacity: true)
        first = 0
      }
    }
    return items[first]
  }
}
