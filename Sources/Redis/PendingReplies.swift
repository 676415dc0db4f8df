import EventLoop

/// The commands without a reply yet, oldest first.
struct PendingReplies {
  struct Element {
    /// Position of the command's first byte among all bytes of the connection.
    let position: UInt64
    /// On ``Clock/monotonicNanoseconds``.
    let deadline: UInt64
    let completion: @EventLoop (Result<RedisValue, RedisError>) -> Void
  }

  private static let compactedAt = 1024

  private var elements: [Element?] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var oldest: Element? { isEmpty ? nil : elements[head] }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: elements.capacity <= PendingReplies.compactedAt * 4)
      head = 0
    } else if head >= PendingReplies.compactedAt, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  mutating func removeAll() -> [Element] {
    let rest = elements[head...].compactMap { $0 }
    elements = []
    head = 0
    return rest
  }
}
