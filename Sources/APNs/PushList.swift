import EventLoop

/// Pushes in order of their deadlines. A push is in at most one list. All operations are O(1) if pushes come in order.
@EventLoop
struct PushList {
  private(set) var first: Push?
  private unowned(unsafe) var last: Push?
  private(set) var count = 0

  var isEmpty: Bool { first == nil }

  /// Inserts a push whose deadline is among the latest.
  mutating func append(_ push: Push) {
    var before = last
    while let candidate = before, candidate.deadline > push.deadline { before = candidate.previous }
    insert(push, after: before)
  }

  /// Inserts a push whose deadline is among the earliest.
  mutating func putBack(_ push: Push) {
    var after = first
    while let candidate = after, candidate.deadline <= push.deadline { after = candidate.next }
    insert(push, after: after.map(\.previous) ?? last)
  }

  mutating func popFirst() -> Push? {
    guard let push = first else { return nil }
    remove(push)
    return push
  }

  /// `push` must be in this list.
  mutating func remove(_ push: Push) {
    let (before, after) = (push.previous, push.next)
    if let before { before.next = after } else { first = after }
    if let after { after.previous = before } else { last = before }
    push.previous = nil
    push.next = nil
    count -= 1
  }

  private mutating func insert(_ push: Push, after before: Push?) {
    let after = before == nil ? first : before?.next
    push.previous = before
    push.next = after
    if let before { before.next = push } else { first = push }
    if let after { after.previous = push } else { last = push }
    count += 1
  }
}
