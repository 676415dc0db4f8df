import JSON
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

extension HistoryEvent {
  /// The members of the entry, the first is `event`.
  var members: JSONObject {
    switch self {
    case .claimed(let worker, let attempt, let waited):
      ["event": "claimed", "worker": worker, "attempt": attempt, "waited": waited]
    case .takenOver(let crashes): ["event": "takenOver", "crashes": crashes]
    case .resolved(let devices, let removed, let pushType):
      [
        "event": "resolved", "devices": devices, "removed": removed.isEmpty ? nil : removed.object,
        "pushType": pushType?.rawValue,
      ]
    case .channel(let environments): ["event": "channel", "environments": environments]
    case .policy(let policy): policy.members
    case .answered(let answers): answers.members
    case .retry(let due, let reason): ["event": "retry", "due": due, "reason": reason]
    case .postponed(let due, let reason, let times):
      ["event": "postponed", "due": due, "reason": reason, "times": times > 1 ? times : nil]
    case .deferred(let until): ["event": "deferred", "until": until]
    case .tooManyUpdates: ["event": "tooManyUpdates"]
    case .tooManyStarts: ["event": "tooManyStarts"]
    case .nullInPayload: ["event": "nullInPayload"]
    // The name that stored histories have for it.
    case .paused: ["event": "held"]
    case .buried(let reason): ["event": "buried", "reason": reason]
    case .ended(let status, let reason): ["event": "ended", "status": status.rawValue, "reason": reason]
    case .omitted(let count): ["event": "omitted", "count": count]
    }
  }

  /// Returns nil for an event of an unknown kind.
  init?(_ value: JSONValue) {
    func number(_ key: String) -> Int { JobResult.count(value[key]) }
    let reason = value["reason"]?.string
    switch value["event"]?.string {
    case "claimed":
      self = .claimed(
        worker: value["worker"]?.string ?? "", attempt: number("attempt"), waited: value["waited"]?.time)
    case "takenOver": self = .takenOver(crashes: number("crashes"))
    case "resolved":
      self = .resolved(
        devices: number("devices"), removed: .init(value["removed"]),
        pushType: value["pushType"]?.string.flatMap(PushType.init))
    case "channel": self = .channel(environments: number("environments"))
    case "policy":
      guard let policy = HistoryPolicy(value) else { return nil }
      self = .policy(policy)
    case "answered": self = .answered(HistoryAnswers(value))
    case "retry": self = .retry(at: value["due"]?.time ?? 0, reason: reason)
    case "postponed":
      self = .postponed(until: value["due"]?.time ?? 0, reason: reason, times: max(1, number("times")))
    case "deferred": self = .deferred(until: value["until"]?.time ?? 0)
    case "tooManyUpdates": self = .tooManyUpdates
    case "tooManyStarts": self = .tooManyStarts
    case "nullInPayload": self = .nullInPayload
    case "held": self = .paused
    case "buried": self = .buried(reason: reason ?? "")
    case "ended":
      guard let status = value["status"]?.string.flatMap(JobStatus.init) else { return nil }
      self = .ended(status, reason: reason)
    case "omitted": self = .omitted(number("count"))
    default: return nil
    }
  }
}

extension HistoryPolicy {
  fileprivate var members: JSONObject {
    [
      "event": "policy", "policy": policy, "class": className, "decision": decision.rawValue, "rule": rule,
      "limit": limit, "used": used, "seconds": seconds, "until": until,
    ]
  }

  fileprivate init?(_ value: JSONValue) {
    guard let decision = value["decision"]?.string.flatMap(Decision.init) else { return nil }
    self.init(
      policy: value["policy"]?.string ?? "", className: value["class"]?.string ?? "", decision: decision,
      rule: value["rule"]?.string)
    limit = value["limit"].map { JobResult.count($0) }
    used = value["used"].map { JobResult.count($0) }
    seconds = value["seconds"]?.count.map(Int64.init)
    until = value["until"]?.time
  }
}

extension HistoryAnswers {
  fileprivate var members: JSONObject {
    [
      "event": "answered", "accepted": accepted, "refused": refused.isEmpty ? nil : refused.object,
      "open": open.isEmpty ? nil : open.object, "device": device, "status": status,
    ]
  }

  fileprivate init(_ value: JSONValue) {
    self.init(
      accepted: JobResult.count(value["accepted"]), refused: .init(value["refused"]), open: .init(value["open"]))
    device = value["device"]?.string
    status = value["status"].map { JobResult.count($0) }
  }
}
