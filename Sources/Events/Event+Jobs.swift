import JSON

/// A job, as events describe it.
public struct EventJob: Sendable, Equatable {
  public var id: String
  public var queue: String
  /// W3C traceparent; nil if the producer set none.
  public var trace: String?

  public init(id: String, queue: String, trace: String? = nil) {
    self.id = id
    self.queue = queue
    self.trace = trace
  }

  fileprivate var members: [JSONMember] {
    var members: [JSONMember] = []
    members.add("id", id)
    members.add("queue", queue)
    members.add("trace", trace)
    return members
  }
}

/// The counters of a job's record.
public struct EventCounts: Sendable, Equatable {
  public var accepted: Int
  public var failed: Int
  public var stale: Int
  public var uncertain: Int
  /// In the order in which they occurred first.
  public var reasons: [(reason: String, count: Int)]

  public init(accepted: Int, failed: Int, stale: Int, uncertain: Int, reasons: [(reason: String, count: Int)]) {
    self.accepted = accepted
    self.failed = failed
    self.stale = stale
    self.uncertain = uncertain
    self.reasons = reasons
  }

  public static func == (left: EventCounts, right: EventCounts) -> Bool { left.members == right.members }

  fileprivate var members: [JSONMember] {
    var members: [JSONMember] = []
    for (key, count) in [("accepted", accepted), ("failed", failed), ("stale", stale), ("uncertain", uncertain)] {
      members.add(key, Int64(count))
    }
    let counted = reasons.map { JSONMember(key: $0.reason, value: .integer(Int64($0.count))) }
    members.append(JSONMember(key: "reasons", value: .object(counted)))
    return members
  }
}

extension Event {
  /// A job that was moved to the dead letters.
  public static func dead(
    _ job: EventJob, reason: String, attempts: Int, isUncertain: Bool = false, at now: Int64
  ) -> Event {
    var data = job.members
    data.add("reason", reason)
    data.add("attempts", Int64(attempts))
    return Event(isUncertain ? .jobUncertain : .jobDead, at: now, data: data)
  }

  /// A job that ended without an accepted push.
  public static func failed(_ job: EventJob, _ counts: EventCounts, attempts: Int, at now: Int64) -> Event {
    var data = job.members
    data.add("attempts", Int64(attempts))
    return Event(.jobFailed, at: now, data: data + counts.members)
  }

  /// A broadcast that ended with this status.
  public static func finished(
    _ job: EventJob, app: String, status: String, _ counts: EventCounts, attempts: Int, at now: Int64
  ) -> Event {
    var data = job.members
    data.add("app", app)
    data.add("status", status)
    data.add("attempts", Int64(attempts))
    return Event(.broadcastFinished, at: now, data: data + counts.members)
  }
}
