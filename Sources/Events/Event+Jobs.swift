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

  fileprivate var object: JSONObject {
    ["id": id.unlessEmpty, "queue": queue.unlessEmpty, "trace": trace?.unlessEmpty]
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

  public static func == (left: EventCounts, right: EventCounts) -> Bool { left.object == right.object }

  fileprivate var object: JSONObject {
    [
      "accepted": accepted, "failed": failed, "stale": stale, "uncertain": uncertain,
      "reasons": JSONObject(reasons.map { ($0.reason, $0.count) }),
    ]
  }
}

extension Event {
  /// A job that was moved to the dead letters.
  public static func dead(
    _ job: EventJob, reason: String, attempts: Int, isUncertain: Bool = false, at now: Int64
  ) -> Event {
    let data = job.object + ["reason": reason.unlessEmpty, "attempts": attempts]
    return Event(isUncertain ? .jobUncertain : .jobDead, at: now, data: data)
  }

  /// A job that ended without an accepted push.
  public static func failed(_ job: EventJob, _ counts: EventCounts, attempts: Int, at now: Int64) -> Event {
    Event(.jobFailed, at: now, data: job.object + ["attempts": attempts] + counts.object)
  }

  /// A job that has ended a Live Activity: APNs accepted its push. `user` is nil if it was for the devices of all users.
  public static func ended(
    activity: String, user: String?, _ job: EventJob, _ counts: EventCounts, attempts: Int, at now: Int64
  ) -> Event {
    let end: JSONObject = ["activity": activity.unlessEmpty, "user": user?.unlessEmpty, "attempts": attempts]
    return Event(.activityEnded, at: now, data: job.object + end + counts.object)
  }

  /// A broadcast that ended with this status.
  public static func finished(
    _ job: EventJob, app: String, status: String, _ counts: EventCounts, attempts: Int, at now: Int64
  ) -> Event {
    let end: JSONObject = ["app": app.unlessEmpty, "status": status.unlessEmpty, "attempts": attempts]
    return Event(.broadcastFinished, at: now, data: job.object + end + counts.object)
  }
}
