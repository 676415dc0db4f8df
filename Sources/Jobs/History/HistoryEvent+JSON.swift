import JSON

extension HistoryEvent {
  /// Writes the members of the entry, the first is `event`.
  func write(to json: inout JSONWriter) {
    switch self {
    case .claimed(let worker, let attempt, let waited):
      json.member("event", "claimed")
      json.member("worker", worker)
      json.member("attempt", attempt)
      json.optionalMember("waited", waited)
    case .takenOver(let crashes):
      json.member("event", "takenOver")
      json.member("crashes", crashes)
    case .resolved(let devices, let removed):
      json.member("event", "resolved")
      json.member("devices", devices)
      json.member("removed", removed)
    case .policy(let policy): policy.write(to: &json)
    case .answered(let answers): answers.write(to: &json)
    case .retry(let due, let reason):
      json.member("event", "retry")
      json.member("due", due)
      json.member("reason", reason)
    case .postponed(let due, let reason, let times):
      json.member("event", "postponed")
      json.member("due", due)
      json.member("reason", reason)
      if times > 1 { json.member("times", times) }
    case .deferred(let until):
      json.member("event", "deferred")
      json.member("until", until)
    case .held: json.member("event", "held")
    case .buried(let reason):
      json.member("event", "buried")
      json.member("reason", reason)
    case .ended(let status, let reason):
      json.member("event", "ended")
      json.member("status", status.rawValue)
      json.member("reason", reason)
    case .omitted(let count):
      json.member("event", "omitted")
      json.member("count", count)
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
    case "resolved": self = .resolved(devices: number("devices"), removed: .init(value["removed"]))
    case "policy":
      guard let policy = HistoryPolicy(value) else { return nil }
      self = .policy(policy)
    case "answered": self = .answered(HistoryAnswers(value))
    case "retry": self = .retry(at: value["due"]?.time ?? 0, reason: reason)
    case "postponed":
      self = .postponed(until: value["due"]?.time ?? 0, reason: reason, times: max(1, number("times")))
    case "deferred": self = .deferred(until: value["until"]?.time ?? 0)
    case "held": self = .held
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
  fileprivate func write(to json: inout JSONWriter) {
    json.member("event", "policy")
    json.member("policy", policy)
    json.member("class", className)
    json.member("decision", decision.rawValue)
    json.member("rule", rule)
    json.optionalMember("limit", limit)
    json.optionalMember("used", used)
    json.optionalMember("seconds", seconds)
    json.optionalMember("until", until)
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
  fileprivate func write(to json: inout JSONWriter) {
    json.member("event", "answered")
    json.member("accepted", accepted)
    json.member("refused", refused)
    json.member("open", open)
    json.member("device", device)
    json.optionalMember("status", status)
  }

  fileprivate init(_ value: JSONValue) {
    self.init(
      accepted: JobResult.count(value["accepted"]), refused: .init(value["refused"]), open: .init(value["open"]))
    device = value["device"]?.string
    status = value["status"].map { JobResult.count($0) }
  }
}

extension JSONWriter {
  /// Writes nothing if `value` is nil.
  fileprivate mutating func optionalMember(_ name: StaticString, _ value: (some BinaryInteger)?) {
    if let value { member(name, value) }
  }

  /// Writes nothing if there are no reasons.
  fileprivate mutating func member(_ name: StaticString, _ reasons: [ReasonCount]) {
    guard !reasons.isEmpty else { return }
    key(name)
    reasons.write(to: &self)
  }
}
