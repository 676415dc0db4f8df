import JSON
import PushModel

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
