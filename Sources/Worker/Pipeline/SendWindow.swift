import EventLoop

/// Bounds the pushes in flight by permits, which are taken before a job is claimed.
///
/// A job brings one permit, which its first push uses; the others wait for free permits. They leave an eighth of all
/// permits to new claims, so that a broadcast never shuts out other jobs, unless no push is in flight at all. Jobs with
/// waiting pushes take turns, one push each: a thousand devices of one job do not hold up two of another.
@EventLoop
final class SendWindow {
  private static let reserveDivisor = 8
  /// Consumed entries at the front of an array are removed once there are this many.
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
  /// Pushes sent that have not called ``leave()``.
  private var inFlight = 0
  private let submit: @EventLoop (PushDraft) -> Void
  /// By job; no lane is empty.
  private var lanes: [ObjectIdentifier: Lane] = [:]
  /// The jobs in the order of their turns.
  private var turns: [Lane] = []
  private var nextTurn = 0

  /// `send` is called for each push as its turn comes.
  init(permits: Permits, send: @escaping @EventLoop (PushDraft) -> Void) {
    self.permits = permits
    submit = send
    // Also for permits that a claim returns unused: pushes may wait for them with none in flight.
    permits.onRelease { [weak self] in self?.fill() }
  }

  /// Adds the drafts of one job; the first uses the job's permit if `hasPermit`. Call ``leave()`` when a draft's push has
  /// ended.
  func enter(_ drafts: [PushDraft], hasPermit: Bool) {
    var rest = drafts[...]
    if hasPermit, let first = rest.popFirst() { send(first) }
    if let next = rest.first { wait(rest, of: ObjectIdentifier(next.delivery)) }
    fill()
  }

  /// A push has ended: releases its permit.
  func leave() {
    inFlight -= 1
    permits.release()
  }

  /// Removes and returns the drafts that have not been sent.
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
    inFlight += 1
    submit(draft)
  }

  /// Permits that waiting pushes may not take.
  private var reserved: Int { inFlight == 0 ? 0 : permits.limit / SendWindow.reserveDivisor }

  private func fill() {
    while nextTurn != turns.count, permits.available > reserved, permits.take(upTo: 1) == 1 {
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
