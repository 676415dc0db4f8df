import Jobs

/// What a worker has counted since it last wrote. Counting allocates nothing, except for a name that is new.
struct CounterSlots {
  private static let accepted = JobStatus.allCases.firstIndex(of: .accepted) ?? 0
  private static let statuses = Dictionary(
    uniqueKeysWithValues: JobStatus.allCases.enumerated().map { ($0.element, $0.offset) })
  private static let appPrefixes = [CounterField.appAccepted, CounterField.appFailed]

  private let queues: [String]
  private var jobs = [Int](repeating: 0, count: JobStatus.allCases.count)
  private var pushes = [Int](repeating: 0, count: CountedPush.allCases.count)
  private var claimed: [Int]
  private var reasons = CounterNames(maximum: CounterLimits.maximumReasons)
  /// Accepted and failed, stale ones included.
  private var apps = CounterNames(maximum: CounterLimits.maximumApps, columns: 2)
  private var latency = LatencyCounts()
  private var recordBytes = 0

  init(queues: [String]) {
    self.queues = queues
    claimed = Array(repeating: 0, count: queues.count)
  }

  mutating func claimed(_ jobs: Int, queueIndex: Int) {
    claimed[queueIndex] &+= jobs
  }

  mutating func ended(_ status: JobStatus, latency milliseconds: Int? = nil) {
    let place = status == .accepted ? CounterSlots.accepted : CounterSlots.statuses[status] ?? 0
    jobs[place] &+= 1
    if let milliseconds { latency.record(milliseconds: milliseconds) }
  }

  mutating func recorded(_ bytes: Int) { recordBytes &+= bytes }

  mutating func pushed(_ push: CountedPush, app: String) {
    switch push {
    case .accepted:
      pushes[0] &+= 1
      apps.count(app)
    case .failed, .stale:
      pushes[push == .failed ? 1 : 2] &+= 1
      apps.count(app, column: 1)
    case .uncertain: pushes[3] &+= 1
    case .open: pushes[4] &+= 1
    }
  }

  mutating func refused(because reason: String) {
    reasons.count(reason)
  }

  /// Adds everything to `batch` and begins again.
  mutating func move(to batch: inout CounterBatch) {
    CounterSlots.move(&jobs, CounterField.statuses, to: &batch)
    CounterSlots.move(&pushes, CounterField.outcomes, to: &batch)
    CounterSlots.move(&latency.buckets, CounterField.latencies, to: &batch)
    batch.add(latency.sum, to: CounterField.latencySum)
    latency.sum = 0
    batch.add(recordBytes, to: CounterField.recordBytes)
    recordBytes = 0
    for (index, queue) in queues.enumerated() {
      let fallback = CounterField.claimed + CounterLimits.otherName
      batch.add(claimed[index], to: CounterField.claimed + CounterField.name(queue), fallback: fallback)
      claimed[index] = 0
    }
    reasons.move(to: &batch, prefixes: [CounterField.refused])
    apps.move(to: &batch, prefixes: CounterSlots.appPrefixes)
  }

  private static func move(_ amounts: inout [Int], _ fields: [String], to batch: inout CounterBatch) {
    for index in amounts.indices {
      batch.add(amounts[index], to: fields[index])
      amounts[index] = 0
    }
  }
}
