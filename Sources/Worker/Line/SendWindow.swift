import EventLoop

/// Bounds the pushes in flight by the permits that were taken before their jobs were claimed.
///
/// A job brings one permit; its first push rides on it, further ones wait for free permits. They leave an eighth of all
/// permits to new claims, so that a broadcast never shuts out other jobs.
@EventLoop
final class SendWindow {
  private static let reserveDivisor = 8
  /// When consumed entries at the front of the queue are given back.
  private static let compactAfter = 4096

  private let permits: Permits
  private let reserve: Int
  private let send: @EventLoop (PushDraft) -> Void
  private var waiting: [PushDraft] = []
  private var head = 0

  /// `send` is called for each push as its turn comes.
  init(permits: Permits, send: @escaping @EventLoop (PushDraft) -> Void) {
    self.permits = permits
    self.send = send
    reserve = permits.limit / SendWindow.reserveDivisor
  }

  /// Lets `drafts` in; the first rides on the job's permit if `hasPermit`. Each must call ``leave()`` when it has ended.
  func enter(_ drafts: [PushDraft], hasPermit: Bool) {
    var rest = drafts[...]
    if hasPermit, let first = rest.popFirst() { send(first) }
    waiting.append(contentsOf: rest)
    fill()
  }

  /// A push has ended and gives its permit back.
  func leave() {
    permits.release()
    fill()
  }

  /// Takes back what has not been sent.
  func drainWaiting() -> [PushDraft] {
    defer {
      waiting = []
      head = 0
    }
    return Array(waiting[head...])
  }

  private func fill() {
    guard !waiting.isEmpty else { return }
    while head < waiting.count, permits.available > reserve, permits.take(upTo: 1) == 1 {
      let draft = waiting[head]
      head += 1
      send(draft)
    }
    if head == waiting.count {
      waiting.removeAll(keepingCapacity: head <= SendWindow.compactAfter)
      head = 0
    } else if head >= SendWindow.compactAfter {
      waiting.removeFirst(head)
      head = 0
    }
  }
}
