/// The result of a run.
struct Verdict: Equatable, Sendable {
  var jobs = 0
  /// Jobs without a confirmation of Redis that were in the queue nevertheless.
  var unconfirmedButRun = 0
  var statuses: [String: Int] = [:]
  var accepted = 0
  var refused = 0
  /// Pushes that were accepted again, by what allowed it.
  var duplicatesAfterCrash = 0
  var duplicatesAfterUncertainty = 0
  var duplicatesAfterRequeue = 0
  /// Pushes of jobs with users whose devices change their owners.
  var ownedPushes = 0
  /// One line per violation, by invariant.
  var violations: [Invariant: [String]] = [:]

  var isGood: Bool { violations.isEmpty }

  mutating func add(_ invariant: Invariant, _ line: String) {
    violations[invariant, default: []].append(line)
  }
}

/// What a run may not break. The raw value is the name in the table.
enum Invariant: String, CaseIterable, Sendable {
  case missing = "jobs or pushes missing"
  case record = "records that contradict the journal"
  case notOwned = "pushes to a device that its user does not own"
  case removed = "devices removed that APNs would accept"
  case stranger = "pushes that no job asked for"
  case identity = "pushes under a wrong apns-id"
  case duplicate = "duplicates without a crash or an uncertain answer"
  case twice = "at-most-once jobs sent twice"
  case early = "pushes before their time"
  case dead = "dead letters"
  case leftover = "keys left over"
  case process = "processes that ended by themselves"
}
