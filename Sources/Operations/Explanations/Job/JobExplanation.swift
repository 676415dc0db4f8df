public import JSON

/// What happened to a job, what happens next, and what to do.
public struct JobExplanation: Sendable, Equatable {
  /// Where a job is on its path.
  public enum State: String, Sendable, CaseIterable {
    /// There is no trace of the job.
    case unknown
    /// In a queue's list.
    case waiting
    case inFlight = "in_flight"
    case retrying
    /// Waits for its `sendAt`.
    case scheduled
    /// Held by a delivery policy.
    case deferred
    /// A broadcast that an operator has paused.
    case paused
    /// In the dead letters.
    case dead
    case ended
  }

  public var id: String
  public var state: State
  /// The `status` of the record; nil without a record.
  public var status: String?
  /// What became of the job so far, in one sentence.
  public var outcome: String
  /// In order of time.
  public var steps: [ExplainedStep]
  /// What happens next; nil if the job has ended.
  public var next: ExplainedStep?
  /// What an operator or a producer should do; nil if nothing needs to be done.
  public var advice: String?

  /// Whether anything is known of the job.
  public var isKnown: Bool { state != .unknown }

  /// `{"id","state","status"?,"outcome","steps":[{"at"?,"kind","sentence"}…],"next"?,"advice"?}`, times in unix ms.
  public var object: JSONObject {
    [
      "id": id, "state": state.rawValue, "status": status, "outcome": outcome, "steps": steps.map(\.object),
      "next": next?.object, "advice": advice,
    ]
  }
}
