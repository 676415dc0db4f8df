/// Answers that wait for the added round-trip time, in the order in which they are due.
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
