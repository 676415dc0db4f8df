import Dashboard
import Jobs
import Operations

/// The rules of delivery policies in words. Pure.
enum PolicyTexts {
  /// `3 in 5 min`
  static func limit(_ limit: RateLimit) -> String { "\(limit.count) in \(span(limit.seconds))" }

  /// `2 min`; empty for 0.
  static func span(_ seconds: Int64) -> String { seconds > 0 ? TimeText.duration(seconds * 1000) : "" }

  static func collapse(_ collapse: PolicyClass.Collapse?) -> String {
    guard let collapse else { return "" }
    return "one in \(span(collapse.seconds))" + (collapse.isShared ? ", with other shared classes" : "")
  }

  static func quiet(_ behaviour: PolicyClass.QuietBehaviour) -> String {
    switch behaviour {
    case .deferCollapsed: "the first is held, others are suppressed"
    case .suppress: "suppressed"
    case .pass: "sent"
    }
  }

  /// What an operator is told of a decision.
  static func decision(_ decision: PolicyDecision) -> (label: String, tone: Tone, why: String) {
    switch decision {
    case .send: ("sent", .good, "No rule prevents it.")
    case .deferUntil(let until):
      ("held", .info, "These are quiet hours. The policy decides again at \(TimeText.exact(until)).")
    case .suppress(let reason): ("suppressed", .warn, why(reason))
    }
  }

  static func why(_ reason: SuppressionReason) -> String {
    switch reason {
    case .limit: "limit: as many notifications as a limit allows were sent lately, all classes together."
    case .collapsed: "collapsed: another notification was sent shortly before, or one is held until quiet hours end."
    case .spacing: "spacing: a notification of this class was sent shortly before."
    case .rhythm: "rhythm: quiet hours begin soon, and the class is of low urgency."
    case .quietHours: "quiet_hours: the class is not sent in quiet hours."
    }
  }

  /// Rows of names and values.
  static func rules(of policy: DeliveryPolicy) -> [(String, Cell)] {
    var rules: [(String, Cell)] = [
      ("Limits", .text(policy.limits.map(limit).joined(separator: "; "))),
      ("Quiet hours", .text(policy.quietHours.map(\.text) ?? "none")),
    ]
    if policy.retrySeconds > 0 {
      rules.append(("Between two attempts", .text("at least \(span(policy.retrySeconds))")))
    }
    let rhythm = policy.rhythm
    if rhythm.suppressBeforeQuietMinutes > 0 {
      rules.append(
        ("Before quiet hours", .text("low urgency is suppressed for \(span(rhythm.suppressBeforeQuietMinutes * 60))")))
    }
    if let name = rhythm.lowClass { rules.append(("Low urgency is shown as", .code(name))) }
    if rhythm.collapseSeconds > 0 {
      rules.append(("Collapse periods", .text("at least \(span(rhythm.collapseSeconds))")))
    }
    return rules + [("Title", .text(policy.title))]
  }
}
