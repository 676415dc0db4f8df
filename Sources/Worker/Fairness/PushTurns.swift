import EventLoop

/// Waiting pushes. Their jobs take turns, one push each, so that a job to a thousand devices does not delay a job to two.
@EventLoop
struct PushTurns {
  /// The waiting pushes of one job, oldest first; never empty between turns.
  private final class Job {
    let id: ObjectIdentifier
    var drafts = FrontQueue<PushDraft>()

    init(_ id: ObjectIdentifier) {
      self.id = id
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
    let known = jobs[id]
    let job = known ?? Job(id)
    job.drafts.append(contentsOf: drafts)
    guard known == nil else { return }
    jobs[id] = job
    turns.append(job)
  }

  /// The push whose turn it is. If its job has more, it gets another turn behind all others.
  mutating func popFirst() -> PushDraft? {
    guard let job = turns.popFirst() else { return nil }
    defer { if job.drafts.isEmpty { jobs[job.id] = nil } else { turns.append(job) } }
    return job.drafts.popFirst()
  }

  /// Removes and returns all pushes.
  mutating func removeAll() -> [PushDraft] {
    defer { self = PushTurns() }
    return turns.removeAll().flatMap { $0.drafts.removeAll() }
  }
}
