import EventLoop

/// Waiting pushes. Their jobs take turns, one push each, so that a job to a thousand devices does not delay a job to two.
@EventLoop
struct PushTurns {
  /// The waiting pushes of one job, oldest first; never empty between turns.
  private final class Job {
    let id: ObjectIdentifier
    var drafts: [PushDraft]
    var head = 0

    init(_ id: ObjectIdentifier, _ drafts: ArraySlice<PushDraft>) {
      self.id = id
      self.drafts = Array(drafts)
    }
  }

  private var jobs: [ObjectIdentifier: Job] = [:]
  /// The jobs in the order of their turns.
  private var turns = FrontQueue<Job>()

  var isEmpty: Bool { turns.isEmpty }

  var jobCount: Int { jobs.count }

  /// Adds pushes of one job, behind those that it has.
  mutating func append(_ drafts: ArraySlice<PushDraft>) {
    guard let first = drafts.first else { return }
    let id = ObjectIdentifier(first.delivery)
    if let job = jobs[id] {
      job.drafts.append(contentsOf: drafts)
    } else {
      let job = Job(id, drafts)
      jobs[id] = job
      turns.append(job)
    }
  }

  /// The push whose turn it is. If its job has more, it gets another turn behind all others.
  mutating func popFirst() -> PushDraft? {
    guard let job = turns.popFirst() else { return nil }
    let draft = job.drafts[job.head]
    job.head += 1
    if job.head == job.drafts.count {
      jobs[job.id] = nil
    } else {
      turns.append(job)
      FrontQueue<PushDraft>.compact(&job.drafts, &job.head)
    }
    return draft
  }

  /// Removes and returns all pushes.
  mutating func removeAll() -> [PushDraft] {
    defer { self = PushTurns() }
    return turns.elements.flatMap { $0.drafts[$0.head...] }
  }
}

/// A queue in an array.
struct FrontQueue<Element> {
  /// Consumed elements at the front are removed once there are this many.
  private static var compactAfter: Int { 4096 }

  private var all: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == all.count }

  var count: Int { all.count - head }

  var elements: ArraySlice<Element> { all[head...] }

  mutating func append(_ element: Element) { all.append(element) }

  mutating func popFirst() -> Element? {
    guard head < all.count else { return nil }
    defer {
      head += 1
      FrontQueue<Element>.compact(&all, &head)
    }
    return all[head]
  }

  mutating func popLast() -> Element? { isEmpty ? nil : all.popLast() }

  /// Removes the elements before `head` if there are many of them, or no others.
  static func compact(_ elements: inout [Element], _ head: inout Int) {
    if head == elements.count {
      elements.removeAll(keepingCapacity: head <= compactAfter)
      head = 0
    } else if head >= compactAfter {
      elements.removeFirst(head)
      head = 0
    }
  }
}
