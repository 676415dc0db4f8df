import Jobs
import PushModel

/// Puts a job's history into sentences.
struct HistorySentences {
  private let text: TimeText
  /// The attempt that the next sentence is about.
  private var attempt = 1
  private var isOfChannel = false

  init(_ text: TimeText) {
    self.text = text
  }

  static func steps(of history: JobHistory, _ text: TimeText) -> [ExplainedStep] {
    var sentences = HistorySentences(text)
    return history.entries.map { sentences.step($0) }
  }

  private mutating func step(_ entry: HistoryEntry) -> ExplainedStep {
    switch entry.event {
    case .claimed(let worker, let attempt, let waited):
      self.attempt = attempt
      return ExplainedStep(at: entry.at, .claimed, claimed(worker, waited))
    case .takenOver(let crashes): return ExplainedStep(at: entry.at, .crash, HistorySentences.takenOver(crashes))
    case .resolved(let devices, let removed, let pushType):
      return ExplainedStep(at: entry.at, .devices, resolved(devices, removed, pushType?.kind))
    case .channel(let environments):
      isOfChannel = true
      let found = attempt > 1 ? "is left to send to in" : "exists in"
      return ExplainedStep(at: entry.at, .devices, "The channel \(found) \(Words.count(environments, "environment")).")
    case .policy(let policy): return ExplainedStep(at: entry.at, .policy, PolicySentences.sentence(policy, text))
    case .answered(let answers):
      let isRefusal = !answers.refused.isEmpty || !answers.open.isEmpty
      return ExplainedStep(at: entry.at, isRefusal ? .refusal : .answer, AnswerSentences.sentence(answers, isOfChannel))
    case .retry(let due, let reason):
      return ExplainedStep(
        at: entry.at, .retry,
        "Attempt \(attempt + 1) was planned for \(text.clock(due))\(HistorySentences.because(reason)).")
    case .postponed(let due, let reason, let times):
      let often = times > 1 ? " for the \(HistorySentences.ordinal(times)) time in a row" : ""
      let why = HistorySentences.because(reason)
      return ExplainedStep(
        at: entry.at, .retry, "It was postponed until \(text.clock(due))\(often), without counting an attempt\(why).")
    case .deferred(let until):
      return ExplainedStep(at: entry.at, .scheduled, "It was held until \(text.clock(until)).")
    case .tooManyStarts:
      return ExplainedStep(
        at: entry.at, .note, "A device gets more than 8 starts of Live Activities in an hour; it may not show all.")
    case .tooManyUpdates:
      return ExplainedStep(
        at: entry.at, .note, "The Live Activity gets more than one update in 3 seconds; APNs may leave some out.")
    case .nullInPayload: return ExplainedStep(at: entry.at, .note, Job.nullHint)
    case .paused: return ExplainedStep(at: entry.at, .control, "An operator had paused it.")
    case .buried(let reason):
      return ExplainedStep(at: entry.at, .dead, "It was given up and put into the dead letters: \(reason).")
    case .ended(let status, _):
      return ExplainedStep(at: entry.at, .end, "The end was recorded: \(status.rawValue).")
    case .omitted(let count):
      return ExplainedStep(at: entry.at, .note, "Left out up to here: \(Words.count(count, "event")).")
    }
  }

  private func claimed(_ worker: String, _ waited: Int64?) -> String {
    let purpose = attempt > 1 ? " for attempt \(attempt)" : ""
    let wait = waited.map { ", \(TimeText.duration($0)) after it was due" } ?? ""
    return "Worker \(worker) claimed it\(purpose)\(wait)."
  }

  private static func takenOver(_ crashes: Int) -> String {
    crashes == 1
      ? "A worker died while it held the job, which went back to its queue."
      : "\(crashes) workers in a row died while they held the job, which went back to its queue."
  }

  /// `kind` is nil for that of apps.
  private func resolved(_ devices: Int, _ removed: [ReasonCount], _ kind: DeviceKind?) -> String {
    let own = kind.map { " of the kind \($0)" } ?? ""
    let found =
      attempt > 1
      ? "\(Words.devices(devices)) \(devices == 1 ? "is" : "are") left to send to"
      : devices == 0 ? "The addressee has no device\(own)" : "The addressee has \(Words.devices(devices))\(own)"
    guard !removed.isEmpty else { return found + "." }
    let why = removed.map { "\(Words.removal($0.reason)) (\($0.count))" }.joined(separator: ", ")
    let entries = removed.total == 1 ? "1 entry of its set was" : "\(removed.total) entries of its set were"
    return "\(found); \(entries) removed: \(why)."
  }

  private static func because(_ reason: String?) -> String {
    guard let reason, !reason.isEmpty else { return "" }
    return ": \(reason)"
  }

  private static func ordinal(_ number: Int) -> String {
    switch (number % 10, number % 100) {
    case (1, let rest) where rest != 11: "\(number)st"
    case (2, let rest) where rest != 12: "\(number)nd"
    case (3, let rest) where rest != 13: "\(number)rd"
    default: "\(number)th"
    }
  }
}
