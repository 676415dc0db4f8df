package import JSON

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

  package var object: JSONObject {
    ["id": id.unlessEmpty, "queue": queue.unlessEmpty, "trace": trace?.unlessEmpty]
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
}
