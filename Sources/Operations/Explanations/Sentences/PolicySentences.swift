import Jobs

/// Puts the decision of a delivery policy into a sentence.
enum PolicySentences {
  static func sentence(_ policy: HistoryPolicy, _ text: TimeText) -> String {
    let (subject, name) = ("Policy \(policy.policy)", policy.className)
    switch policy.decision {
    case .send: return "\(subject) allowed it (class \(name))."
    case .hold: return "\(subject) holds class \(name) in quiet hours\(until(policy, ", until", text))."
    case .suppress: return "\(subject) suppressed it\(why(policy, text))."
    }
  }

  private static func why(_ policy: HistoryPolicy, _ text: TimeText) -> String {
    let period = policy.seconds.map { TimeText.duration($0 * 1000) } ?? "the period"
    let name = policy.className
    let next = until(policy, "; the next is allowed at", text)
    switch policy.rule {
    case "limit":
      let numbers = policy.limit.map { "\(policy.used ?? $0) of \($0) notifications were sent in \(period)" }
      return ": \(numbers ?? "its limit was reached")\(next)"
    case "collapsed": return ": one that class \(name) collapses with was sent or held\(next)"
    case "spacing": return ": class \(name) allows one in \(period)\(next)"
    case "quiet_hours": return ": class \(name) is not sent in quiet hours\(until(policy, ", which end at", text))"
    case "rhythm":
      return ": class \(name) is not sent shortly before quiet hours\(until(policy, ", which begin at", text))"
    default: return policy.rule.map { ": \($0)" } ?? ""
    }
  }

  private static func until(_ policy: HistoryPolicy, _ words: String, _ text: TimeText) -> String {
    policy.until.map { "\(words) \(text.clock($0))" } ?? ""
  }
}
