import EventLoop

/// Bounds the pushes in flight by the permits that were taken before their jobs were claimed.
///
/// A job brings one permit; its first push rides on it, further ones wait for free permits. They leave an eighth of all
/// permits to new claims, so that a broadcast never shuts out other jobs, unless no push is under way at all. The jobs that wait take turns, a push each: one
/// with a thousand devices does not hold up one with two.
@EventLoop
final class SendWindow {
  private static let reserveDivisor = 8
  /// When consumed entries at the front of an array are given back.
  private static let compactAfter = 4096

  /// The waiting pushes of one job, oldest first.
  private final class Lane {
    let job: ObjectIdentifier
    var drafts: [PushDraft]
    var head = 0

    init(_ job: ObjectIdentifier, _ drafts: ArraySlice<PushDraft>) {
      self.job = job
      self.drafts = Array(drafts)
    }
  }

  private let permits: Permits
  private let reserve: Int
  /// Pushes that have not called ``leave()``.
  private var underWay = 0
  private let submit: @EventLoop (PushDraft) -> Void
  /// By job; none is empty.
  private var lanes: [ObjectIdentifier: Lane] = [:]
  /// The jobs in the order of their turns.
  private var turns: [Lane] = []
  private var nextTurn = 0

  /// `send` is called for each push as its turn comes.
  init(permits: Permits, send: @escaping @EventLoop (PushDraft) -> Void) {
    self.permits = permits
    submit = send
    reserve = permits.limit / SendWindow.reserveDivisor
    // Also those of a claim that came back empty: pushes may be waiting for them with none under way.
    permits.onRelease { [weak self] in self?.fill() }
  }

  /// Lets `drafts` of one job in; the first rides on the job's permit if `hasPermit`. Each must call ``leave()`` when it
  /// has ended.
  func enter(_ drafts: [PushDraft], hasPermit: Bool) {
    var rest = drafts[...]
    if hasPermit, let first = rest.popFirst() { send(first) }
    if let next = rest.first { wait(rest, of: ObjectIdentifier(next.delivery)) }
    fill()
  }

  /// A push has ended and gives its permit back.
  func leave() {
    underWay -= 1
    permits.release()
  }

  /// Takes back what has not been sent.
  func drainWaiting() -> [PushDraft] {
    let left = turns[nextTurn...].flatMap { $0.drafts[$0.head...] }
    lanes = [:]
    turns = []
    nextTurn = 0
    return left
  }

  private func wait(_ drafts: ArraySlice<PushDraft>, of job: ObjectIdentifier) {
    if let lane = lanes[job] {
      lane.drafts.append(contentsOf: drafts)
    } else {
      let lane = Lane(job, drafts)
      lanes[job] = lane
      turns.append(lane)
    }
  }

  private func send(_ draft: PushDraft) {
    underWay += 1
    submit(draft)
  }

  /// Permits that are not for waiting pushes.
  private var spared: Int { underWay == 0 ? 0 : reserve }

  private func fill() {
    while nextTurn != turns.count, permits.available > spared, permits.take(upTo: 1) == 1 {
      let lane = turns[nextTurn]
      nextTurn += 1
      send(next(of: lane))
    }
    SendWindow.compact(&turns, &nextTurn)
  }

  /// The job's next push; if more wait, it gets another turn behind all others.
  private func next(of lane: Lane) -> PushDraft {
    let draft = lane.drafts[lane.head]
    lane.head += 1
    if lane.head == lane.drafts.count {
      lanes[lane.job] = nil
    } else {
      turns.append(lane)
      SendWindow.compact(&lane.drafts, &lane.head)
    }
    return draft
  }

  private static func compact<Element>(_ elements: inout [Element], _ head: inout Int) {
    if head == elements.count {
      elements.removeAll(keepingCapacity: head <= compactAfter)
      head = 0
    } else if head >= compactAfter {
      elements.removeFirst(head)
      head = 0
    }
  }
}
