public import PushModel

/// What happened to a job at one time.
public enum HistoryEvent: Sendable, Equatable {
  /// A worker took the job from its queue. `attempt` counts from 1. `waited` is how long the job was due, in ms; nil if its
  /// producer did not say when it was enqueued.
  case claimed(worker: String, attempt: Int, waited: Int64?)
  /// The job came back from a dead worker. `crashes` is how many workers in a row died while they held it.
  case takenOver(crashes: Int)
  /// The addressee's devices were looked up. `removed` counts the entries of the addressee's set that were not its devices.
  /// `pushType` is nil for the types that go to the tokens of apps, which most jobs have; else only devices of its kind were
  /// counted.
  case resolved(devices: Int, removed: [ReasonCount], pushType: PushType? = nil)
  /// The job's channel was looked up. `environments` are those that are left to send to.
  case channel(environments: Int)
  case policy(HistoryPolicy)
  /// The pushes of an attempt have ended.
  case answered(HistoryAnswers)
  /// The attempt counts, and the next one is due at this time.
  case retry(at: Int64, reason: String?)
  /// The job was postponed without an attempt being counted. `times` counts postponements in a row for the same reason.
  case postponed(until: Int64, reason: String?, times: Int)
  /// A delivery policy holds the job.
  case deferred(until: Int64)
  /// The Live Activity gets more updates than APNs may deliver.
  case tooManyUpdates
  /// A device gets more starts of Live Activities in an hour than it may show.
  case tooManyStarts
  /// A null is sent.
  case nullInPayload
  /// An operator has paused the broadcast.
  case paused
  case buried(reason: String)
  /// The job has ended.
  case ended(JobStatus, reason: String?)
  /// This number of entries was dropped here.
  case omitted(Int)
}

/// What a delivery policy decided about a job, with the numbers that it decided by.
public struct HistoryPolicy: Sendable, Equatable {
  public enum Decision: String, Sendable, CaseIterable { case send, suppress, hold }

  public var policy: String
  public var className: String
  public var decision: Decision
  /// The rule that suppresses: the `reason` of the record.
  public var rule: String?
  /// Notifications that the rule allows in its period.
  public var limit: Int?
  /// Notifications that were sent in the period.
  public var used: Int?
  /// The period, in seconds.
  public var seconds: Int64?
  /// Until when the rule would decide the same, unix ms.
  public var until: Int64?

  public init(policy: String, className: String, decision: Decision, rule: String? = nil) {
    self.policy = policy
    self.className = className
    self.decision = decision
    self.rule = rule
  }
}

/// How the pushes of one attempt ended.
public struct HistoryAnswers: Sendable, Equatable {
  public var accepted = 0
  /// Refused for good, or written and not answered.
  public var refused: [ReasonCount] = []
  /// Tried again by the next attempt.
  public var open: [ReasonCount] = []
  /// The beginning of the token, if the attempt was for one device.
  public var device: String?
  /// HTTP status of the answer, if the attempt was for one device and APNs answered.
  public var status: Int?

  public init(accepted: Int = 0, refused: [ReasonCount] = [], open: [ReasonCount] = []) {
    self.accepted = accepted
    self.refused = refused
    self.open = open
  }

  public var isEmpty: Bool { accepted == 0 && refused.isEmpty && open.isEmpty }
}
