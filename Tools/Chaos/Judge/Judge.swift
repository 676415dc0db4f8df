import TestSupport

/// Decides from the evidence whether the fleet kept its promises.
struct Judge {
  /// A push that was not answered is given up 20 s after it was submitted; 5 s more for a slow machine.
  static let answerNanoseconds: UInt64 = 25_000_000_000
  /// A push may wait in its worker after the owner was read: at most this long.
  static let waitNanoseconds: UInt64 = 60_000_000_000
  /// Clocks of one machine.
  static let clockNanoseconds: UInt64 = 50_000_000

  private let evidence: Evidence
  /// By job id, in the order of arrival.
  private let pushes: [String: [LedgerPush]]
  private let endings: [Int: [UInt64]]
  private var verdict = Verdict()

  private init(_ evidence: Evidence) {
    self.evidence = evidence
    pushes = Dictionary(grouping: evidence.pushes) { $0.job }
    endings = Dictionary(grouping: evidence.pushes.filter { $0.loss == .connection }) { $0.client }
      .mapValues { $0.map(\.arrival) }
  }

  static func verdict(on evidence: Evidence) -> Verdict {
    var judge = Judge(evidence)
    judge.judge()
    return judge.verdict
  }

  private mutating func judge() {
    verdict.accepted = evidence.pushes.count { $0.isAccepted }
    verdict.refused = evidence.pushes.count { !$0.isAccepted && $0.status != 0 }
    for job in evidence.jobs { judge(job) }
    judgeStrangers()
    judgeIdentities()
    for token in evidence.removed { verdict.add(.removed, token) }
    for letter in evidence.deadLetters { verdict.add(.dead, letter) }
    for key in evidence.leftovers { verdict.add(.leftover, key) }
    for ending in evidence.endings { verdict.add(.process, ending) }
  }

  // MARK: - One job

  private mutating func judge(_ job: ProducedJob) {
    let record = evidence.records[job.id]
    let pushes = pushes[job.id] ?? []
    guard job.isConfirmed || record != nil || !pushes.isEmpty else { return }
    verdict.jobs += 1
    if !job.isConfirmed { verdict.unconfirmedButRun += 1 }
    verdict.statuses[record?.status ?? "none", default: 0] += 1
    judgeEnd(of: job, record, pushes)
    judgeRecord(of: job, record, pushes)
    judgeAddressees(of: job, pushes)
    judgeTime(of: job, pushes)
    for (token, same) in Dictionary(grouping: pushes.filter(\.isAccepted), by: \.token) {
      judgeDuplicates(of: job, token, same)
    }
  }

  private mutating func judgeEnd(of job: ProducedJob, _ record: JobRecord?, _ pushes: [LedgerPush]) {
    guard let record, record.isFinal else {
      if record == nil, evidence.wasFull { return judgeWithoutRecord(job, pushes) }
      return verdict.add(.missing, "\(job.id): \(record.map { "it is \($0.status)" } ?? "no record")")
    }
    let reached = Set(pushes.filter(\.isAccepted).map(\.token))
    switch job.addressee {
    case .devices(let devices):
      if record.status != "accepted" { verdict.add(.missing, "\(job.id): \(record.status) \(record.reason ?? "")") }
      let missing = devices.filter { !reached.contains($0) }
      if let first = missing.first { verdict.add(.missing, "\(job.id): \(missing.count) devices, such as \(first)") }
    case .user(let user, let device):
      guard record.status == "accepted" || record.status == "no_devices" else {
        return verdict.add(.missing, "\(job.id): \(record.status) \(record.reason ?? "")")
      }
      let mustReach = record.status == "accepted" || hadDevice(user, device, job, record)
      if mustReach, !reached.contains(device) { verdict.add(.missing, "\(job.id): \(record.status), \(device)") }
    }
  }

  /// The journal alone tells what became of the job. Without a push its user had no device, or has lost it meanwhile.
  private mutating func judgeWithoutRecord(_ job: ProducedJob, _ pushes: [LedgerPush]) {
    let reached = Set(pushes.filter(\.isAccepted).map(\.token))
    switch job.addressee {
    case .devices(let devices):
      let missing = devices.filter { !reached.contains($0) }
      if let first = missing.first {
        verdict.add(.missing, "\(job.id): no record, and \(missing.count) devices, such as \(first)")
      }
    case .user(let user, let device):
      let start = max(job.sent, job.notBefore ?? 0)
      let wasOwner = evidence.ownership.ownedThroughout(user, device, job.sent...(start + Judge.waitNanoseconds))
      if wasOwner, !reached.contains(device) { verdict.add(.missing, "\(job.id): no record, and not \(device)") }
    }
  }

  /// A status that is not right for the job is missing already.
  private mutating func judgeRecord(of job: ProducedJob, _ record: JobRecord?, _ pushes: [LedgerPush]) {
    guard let record, record.status == "accepted" || record.status == "no_devices" else { return }
    let devices =
      if case .devices(let all) = job.addressee { all.count } else { 1 }
    let end = UInt64(max(0, record.finishedAt)) * 1_000_000 + 1_000_000
    let comparison = RecordComparison(record: record, accepted: pushes.filter(\.isAccepted), devices: devices)
    let contradiction = comparison.contradiction { push in
      isUncertain(push) || hasCrashed(after: push, before: end)
    }
    if let contradiction { verdict.add(.record, "\(job.id): \(contradiction)") }
  }

  /// Whether the user certainly owned the device from before the job was enqueued until it ended.
  private func hadDevice(_ user: HardName, _ device: String, _ job: ProducedJob, _ record: JobRecord) -> Bool {
    let end = UInt64(max(0, record.finishedAt)) * 1_000_000 + 1_000_000
    guard end >= job.sent else { return false }
    let range = job.sent...end
    // The worker's own clock tells when the job ended.
    return evidence.clockJumps.allSatisfy { !$0.overlaps(range) }
      && evidence.ownership.ownedThroughout(user, device, range)
  }

  private mutating func judgeAddressees(of job: ProducedJob, _ pushes: [LedgerPush]) {
    switch job.addressee {
    case .devices(let devices):
      let known = Set(devices)
      for push in pushes where !known.contains(push.token) {
        verdict.add(.notOwned, "\(job.id): \(push.token) at \(push.arrival)")
      }
    case .user(let user, let device):
      verdict.ownedPushes += pushes.count
      for push in pushes where push.token != device || !mayReach(user, push, job) {
        verdict.add(.notOwned, "\(job.id) to \(user): \(push.token) at \(push.arrival)")
      }
    }
  }

  /// Whether the user may have owned the device when its devices were read: after the job was enqueued, and no longer
  /// before the push than a push may wait.
  private func mayReach(_ user: HardName, _ push: LedgerPush, _ job: ProducedJob) -> Bool {
    let earliest = max(job.sent, push.arrival - min(push.arrival, Judge.waitNanoseconds))
    guard earliest <= push.arrival + Judge.clockNanoseconds else { return false }
    return evidence.ownership.mayHaveOwned(
      user, push.token, in: min(earliest, push.arrival)...(push.arrival + Judge.clockNanoseconds))
  }

  private mutating func judgeTime(of job: ProducedJob, _ pushes: [LedgerPush]) {
    guard let notBefore = job.notBefore else { return }
    for push in pushes where push.arrival + Judge.clockNanoseconds < notBefore {
      let range = job.sent...max(job.sent, push.arrival)
      guard evidence.clockJumps.allSatisfy({ !$0.overlaps(range) }) else { continue }
      verdict.add(.early, "\(job.id): \((notBefore - push.arrival) / 1_000_000) ms")
    }
  }

  // MARK: - Duplicates

  private mutating func judgeDuplicates(of job: ProducedJob, _ token: String, _ accepted: [LedgerPush]) {
    for (first, second) in zip(accepted, accepted.dropFirst()) {
      let place = "\(job.id) to \(token): at \(first.arrival) and \(second.arrival)"
      let between = first.arrival...max(first.arrival, second.arrival)
      if evidence.requeued[job.id]?.contains(where: between.contains) == true {
        verdict.duplicatesAfterRequeue += 1
      } else if job.isAtMostOnce {
        verdict.add(.twice, place)
      } else if isUncertain(first) {
        verdict.duplicatesAfterUncertainty += 1
      } else if hasCrashed(after: first, before: second.arrival) {
        verdict.duplicatesAfterCrash += 1
      } else {
        verdict.add(.duplicate, place)
      }
    }
  }

  /// Whether the worker may not have received the answer.
  private func isUncertain(_ push: LedgerPush) -> Bool {
    if push.loss != nil { return true }
    let range = push.arrival...(push.arrival + Judge.answerNanoseconds)
    if endings[push.client]?.contains(where: range.contains) == true { return true }
    let worker = connection(of: push)?.worker
    return evidence.incidents.contains { $0.cause == .uncertainty && $0.worker == worker && $0.overlaps(range) }
  }

  private func hasCrashed(after first: LedgerPush, before time: UInt64) -> Bool {
    let range = first.arrival...max(first.arrival, time)
    guard let connection = connection(of: first) else { return false }
    return evidence.incidents.contains { incident in
      guard incident.worker == connection.worker else { return false }
      switch incident.cause {
      case .uncertainty: return false
      case .lostLease: return incident.overlaps(range)
      // What a worker had written may arrive after its end.
      case .death: return connection.since <= incident.end && incident.begin <= range.upperBound
      }
    }
  }

  private func connection(of push: LedgerPush) -> (since: UInt64, worker: Int)? {
    evidence.connections[push.client]?.last { $0.since <= push.arrival }
  }

  // MARK: - All pushes

  private mutating func judgeStrangers() {
    let known = Set(evidence.jobs.map(\.id))
    for push in evidence.pushes where !known.contains(push.job) {
      verdict.add(.stranger, "\(push.job) to \(push.token) at \(push.arrival)")
    }
  }

  /// One apns-id for each job and device, and no two for the same.
  private mutating func judgeIdentities() {
    var ids: [String: String] = [:]
    var places: [String: String] = [:]
    for push in evidence.pushes {
      let place = "\(push.job) \(push.token)"
      if ids.updateValue(push.apnsID, forKey: place) ?? push.apnsID != push.apnsID {
        verdict.add(.identity, "\(place): another apns-id, \(push.apnsID)")
      }
      if places.updateValue(place, forKey: push.apnsID) ?? place != place {
        verdict.add(.identity, "\(place): the apns-id \(push.apnsID) of another push")
      }
    }
  }
}
