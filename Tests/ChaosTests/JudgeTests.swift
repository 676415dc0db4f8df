import Testing
import TestSupport

@testable import Chaos

struct JudgeTests {
  /// A second after `second`, unix nanoseconds.
  static func time(_ second: Double) -> UInt64 { UInt64((1000 + second) * 1e9) }

  func job(_ id: String = "j", _ devices: [String] = ["d"]) -> ProducedJob {
    ProducedJob(id: id, addressee: .devices(devices), sent: Self.time(0), isConfirmed: true)
  }

  private func userJob(_ user: HardName, sent: Double) -> ProducedJob {
    ProducedJob(id: "j", addressee: .user(user, device: "d"), sent: Self.time(sent), isConfirmed: true)
  }

  func push(
    at second: Double, job: String = "j", token: String = "d", id: String? = nil, client: Int = 1, status: Int = 200,
    loss: LedgerPush.Loss? = nil
  ) -> LedgerPush {
    LedgerPush(
      arrival: Self.time(second), client: client, apnsID: id ?? "\(job)/\(token)", token: token, job: job,
      status: status, loss: loss)
  }

  /// One job that was accepted, with these pushes. Port 1 belongs to worker 0, port 2 to worker 1.
  func evidence(_ job: ProducedJob, _ pushes: [LedgerPush], status: String = "accepted") -> Evidence {
    var evidence = Evidence()
    evidence.jobs = [job]
    let devices =
      if case .devices(let all) = job.addressee { all.count } else { 1 }
    evidence.records = [
      job.id: JobRecord(
        status: status, accepted: status == "accepted" ? devices : 0,
        finishedAt: Int64(Self.time(60) / 1_000_000))
    ]
    evidence.pushes = pushes
    evidence.connections = [1: [(0, 0)], 2: [(0, 1)]]
    return evidence
  }

  func broken(_ evidence: Evidence) -> [Invariant: Int] {
    Judge.verdict(on: evidence).violations.mapValues(\.count)
  }

  private func incident(_ cause: Incident.Cause, _ seconds: ClosedRange<Double>, worker: Int = 0) -> Incident {
    Incident(
      cause: cause, worker: worker, begin: Self.time(seconds.lowerBound), end: Self.time(seconds.upperBound))
  }

  @Test func `a job that reached its devices once is good`() {
    let verdict = Judge.verdict(
      on: evidence(job("j", ["d", "e"]), [push(at: 1), push(at: 2, token: "e"), push(at: 0.5, status: 503)]))
    #expect(verdict.isGood)
    #expect(verdict.jobs == 1)
    #expect(verdict.accepted == 2)
    #expect(verdict.refused == 1)
  }

  @Test func `after Redis was full, the journal tells what became of a job without a record`() {
    var reached = evidence(job("j", ["d", "e"]), [push(at: 1), push(at: 2, token: "e")])
    (reached.records, reached.wasFull) = ([:], true)
    #expect(broken(reached) == [:])
    reached.wasFull = false
    #expect(broken(reached) == [.missing: 1])
    var missed = evidence(job("j", ["d", "e"]), [push(at: 1)])
    (missed.records, missed.wasFull) = ([:], true)
    #expect(broken(missed) == [.missing: 1])
  }

  @Test func `a job without a record, without its end or without a device is missing`() {
    var nothing = evidence(job(), [push(at: 1)])
    nothing.records = [:]
    #expect(broken(nothing) == [.missing: 1])
    #expect(broken(evidence(job(), [push(at: 1)], status: "retrying")) == [.missing: 1])
    #expect(broken(evidence(job(), [push(at: 1)], status: "failed")) == [.missing: 1])
    #expect(broken(evidence(job("j", ["d", "e"]), [push(at: 1)])) == [.missing: 1])
    #expect(broken(evidence(job(), [push(at: 1, status: 503)])) == [.missing: 1])
  }

  @Test func `a job that Redis did not confirm may be absent, but not half done`() {
    var unknown = job()
    unknown.isConfirmed = false
    var evidence = evidence(unknown, [])
    evidence.records = [:]
    #expect(broken(evidence) == [:])
    evidence.pushes = [push(at: 1)]
    #expect(broken(evidence) == [.missing: 1])
  }

  @Test func `a duplicate needs a crash of its worker between the two pushes, or a lost lease`() {
    var evidence = evidence(job(), [push(at: 1), push(at: 9, client: 2)])
    #expect(broken(evidence) == [.duplicate: 1])
    for cause in [Incident.Cause.death, .lostLease] {
      evidence.incidents = [incident(cause, 2...2, worker: 1), incident(cause, 9.5...10)]
      #expect(broken(evidence) == [.duplicate: 1])
    }
    evidence.incidents.append(incident(.lostLease, 0.5...0.5))
    #expect(broken(evidence) == [.duplicate: 1])
    evidence.incidents.append(incident(.lostLease, 2...2))
    #expect(Judge.verdict(on: evidence).duplicatesAfterCrash == 1)
    #expect(broken(evidence) == [:])
  }

  @Test func `a push that arrives after the death of its worker was sent by it, unless its connection is younger`() {
    var evidence = evidence(job(), [push(at: 1), push(at: 9, client: 2)])
    evidence.incidents = [incident(.death, 0.4...0.5)]
    evidence.connections[1] = [(Self.time(0.6), 0)]
    #expect(broken(evidence) == [.duplicate: 1])
    evidence.connections[1] = [(Self.time(0.3), 0)]
    #expect(broken(evidence) == [:])
  }

  @Test func `a duplicate is allowed if the first push was not answered`() {
    #expect(broken(evidence(job(), [push(at: 1, loss: .answer), push(at: 9)])) == [:])
    // Another push ended the connection.
    let other = push(at: 3, job: "other", loss: .connection)
    var cut = evidence(job(), [push(at: 1), other, push(at: 9)])
    cut.jobs.append(job("other"))
    cut.records["other"] = JobRecord(status: "accepted", accepted: 1)
    #expect(Judge.verdict(on: cut).duplicatesAfterUncertainty == 1)
    #expect(broken(cut) == [:])
    cut.pushes[0] = push(at: 1, client: 2)
    #expect(broken(cut) == [.duplicate: 1])
  }

  @Test func `a duplicate is allowed if the connections of its worker were cut before the answer was due`() {
    var evidence = evidence(job(), [push(at: 1), push(at: 40)])
    evidence.incidents = [incident(.uncertainty, 27...30), incident(.uncertainty, 2...3, worker: 1)]
    #expect(broken(evidence) == [.duplicate: 1])
    evidence.incidents.append(incident(.uncertainty, 20...30))
    #expect(broken(evidence) == [:])
  }

  @Test func `a job at most once is never sent twice before it is requeued`() {
    var once = job()
    once.isAtMostOnce = true
    var evidence = evidence(once, [push(at: 1, loss: .answer), push(at: 40)])
    #expect(broken(evidence) == [.twice: 1])
    evidence.requeued = ["j": [Self.time(30), Self.time(50)]]
    #expect(broken(evidence) == [:])
    #expect(Judge.verdict(on: evidence).duplicatesAfterRequeue == 1)
  }

  @Test func `each job and device has one apns-id of its own`() {
    #expect(broken(evidence(job(), [push(at: 1, status: 503), push(at: 2, id: "x")])) == [.identity: 1])
    let shared = evidence(job("j", ["d", "e"]), [push(at: 1, id: "x"), push(at: 2, token: "e", id: "x")])
    #expect(broken(shared) == [.identity: 1])
  }

  @Test func `a push that nobody asked for is a violation`() {
    #expect(broken(evidence(job(), [push(at: 1), push(at: 2, token: "f")])) == [.notOwned: 1])
    #expect(broken(evidence(job(), [push(at: 1), push(at: 2, job: "unknown")])) == [.stranger: 1])
  }

  @Test func `a scheduled job is not sent early, unless a clock was wrong`() {
    var scheduled = job()
    scheduled.notBefore = Self.time(5)
    var evidence = evidence(scheduled, [push(at: 4)])
    #expect(broken(evidence) == [.early: 1])
    evidence.clockJumps = [Self.time(3)...Self.time(8)]
    #expect(broken(evidence) == [:])
    evidence.clockJumps = [Self.time(4.5)...Self.time(8)]
    #expect(broken(evidence) == [.early: 1])
  }

  @Test func `a device that was taken away before the job was enqueued gets nothing`() {
    var evidence = evidence(userJob("a", sent: 3), [push(at: 4)])
    evidence.ownership.append(.register, "a", "d", requested: Self.time(0), confirmed: Self.time(0.1))
    #expect(broken(evidence) == [:])
    evidence.ownership.append(.register, "b", "d", requested: Self.time(2), confirmed: Self.time(2.5))
    #expect(broken(evidence) == [.notOwned: 1])
  }

  @Test func `a device that was taken away while the job waited gets nothing later`() {
    var evidence = evidence(userJob("a", sent: 1), [push(at: 30)])
    evidence.ownership.append(.register, "a", "d", requested: Self.time(0), confirmed: Self.time(0.1))
    evidence.ownership.append(.register, "b", "d", requested: Self.time(2), confirmed: Self.time(2.5))
    #expect(broken(evidence) == [:])
    evidence.pushes = [push(at: 63)]
    #expect(broken(evidence) == [.notOwned: 1])
  }

  /// What a fleet does that takes names for each other which look alike.
  @Test(arguments: [
    ("jos\u{e9}", "jose\u{301}"), (";", "\u{37e}"), ("\u{d55c}", "\u{1112}\u{1161}\u{11ab}"),
    ("\u{304c}", "\u{304b}\u{3099}"), ("bob", "team:bob"), ("bob", "{bob}"), ("bob", "bo b"),
  ])
  func `a push to the device of a user whose name looks alike is a violation`(name: String, other: String) {
    for (user, owner) in [(name, other), (other, name)] {
      var evidence = evidence(userJob(HardName(user), sent: 0.5), [push(at: 1)])
      evidence.ownership.append(.register, HardName(user), "d", requested: Self.time(0), confirmed: Self.time(0.1))
      #expect(broken(evidence) == [:])
      evidence.ownership = OwnershipTimeline()
      evidence.ownership.append(.register, HardName(owner), "d", requested: Self.time(0), confirmed: Self.time(0.1))
      #expect(broken(evidence) == [.notOwned: 1])
    }
  }

  @Test func `a user who owns a device all the time gets the push`() {
    var evidence = evidence(userJob("a", sent: 3), [], status: "no_devices")
    #expect(broken(evidence) == [:])
    evidence.ownership.append(.register, "a", "d", requested: Self.time(0), confirmed: Self.time(1))
    #expect(broken(evidence) == [.missing: 1])
    evidence.ownership.append(.register, "b", "d", requested: Self.time(50), confirmed: Self.time(55))
    #expect(broken(evidence) == [:])
  }

  @Test func `the record of a job that was accepted has its devices, as the journal`() {
    var evidence = evidence(job("j", ["d", "e"]), [push(at: 1), push(at: 2, token: "e"), push(at: 0.5, status: 503)])
    #expect(broken(evidence) == [:])
    for (accepted, failed, stale) in [(1, 0, 0), (3, 0, 0), (2, 1, 0), (2, 0, 1), (1, 1, 0)] {
      evidence.records["j"] = JobRecord(status: "accepted", accepted: accepted, failed: failed, stale: stale)
      #expect(broken(evidence) == [.record: 1])
    }
  }

  @Test func `each device that a record lists as accepted was accepted under that apns-id`() {
    var evidence = evidence(job(), [push(at: 1, id: "x")])
    func list(_ entry: JobRecord.Entry) {
      evidence.records["j"] = JobRecord(status: "accepted", accepted: 1, results: [entry])
    }
    list(.init(token: "d", isAccepted: true, apnsID: "x"))
    #expect(broken(evidence) == [:])
    for wrong in [
      JobRecord.Entry(token: "d", isAccepted: true, apnsID: "y"), .init(token: "e", isAccepted: true, apnsID: "x"),
      .init(token: "d", isAccepted: false, apnsID: "x"),
    ] {
      list(wrong)
      #expect(broken(evidence) == [.record: 1])
    }
  }

  @Test func `a record without devices contradicts an accepted push, unless its worker may not have known of it`() {
    var evidence = evidence(userJob("a", sent: 0.5), [push(at: 1)], status: "no_devices")
    evidence.ownership.append(.register, "a", "d", requested: Self.time(0), confirmed: Self.time(0.1))
    evidence.ownership.append(.register, "b", "d", requested: Self.time(2), confirmed: Self.time(2.5))
    #expect(broken(evidence) == [.record: 1])
    evidence.incidents = [incident(.death, 70...70)]
    #expect(broken(evidence) == [.record: 1])
    evidence.incidents = [incident(.death, 3...3)]
    #expect(broken(evidence) == [:])
    evidence.incidents = [incident(.uncertainty, 3...4)]
    #expect(broken(evidence) == [:])
    evidence.records["j"] = JobRecord(status: "no_devices", accepted: 1)
    #expect(broken(evidence) == [.record: 1])
  }

  @Test func `dead letters, leftovers and processes that ended are violations`() {
    var evidence = evidence(job(), [push(at: 1)])
    evidence.deadLetters = ["x: gave up"]
    evidence.leftovers = ["martlet:{chaos}:retry 1"]
    evidence.endings = ["worker 1 ended by itself"]
    #expect(broken(evidence) == [.dead: 1, .leftover: 1, .process: 1])
  }
}
