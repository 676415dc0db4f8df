import PushModel
import Testing

@testable import Operations
@testable import Jobs
@testable import Queue

/// What is said about a job, word by word.
struct JobExplanationTests {
  /// 13:30:00 where the tests are.
  private static let now: Int64 = 1_795_264_200_000
  private static let zone = LocalTime { _ in 3600 }
  private static let worker = WorkerReport(
    startedAt: 1, jobs: 2, jobsPerSecond: 100, outstanding: 3, inFlight: 4, concurrency: 512)

  private func facts(
    _ place: JobLocation.Place, _ record: JobResult? = nil, job: String? = nil, workers: [String] = ["w"]
  ) -> JobFacts {
    var location = JobLocation(id: "j", place: place)
    location.queue = "push:jobs"
    location.record = record
    if let job { location.envelope = Envelope(nonce: "n", job: Array(job.utf8)) }
    var facts = JobFacts(location: location, now: Self.now, localTime: Self.zone)
    for worker in workers { facts.workers[worker] = Self.worker }
    return facts
  }

  private func record(
    _ status: JobStatus, reason: String? = nil, accepted: Int = 0, failed: [ReasonCount] = [],
    history: [(Int64, HistoryEvent)] = []
  ) -> JobResult {
    var record = JobResult(
      id: "j", status: status, reason: reason, worker: "w", claimedAt: Self.now - 2000, finishedAt: Self.now - 1000)
    record.accepted = accepted
    record.failed = failed.total
    record.reasons = failed
    for (at, event) in history { record.history.append(Self.now + at, event) }
    return record
  }

  private func explain(_ place: JobLocation.Place, _ record: JobResult? = nil, job: String? = nil) -> JobExplanation {
    JobExplanation(facts(place, record, job: job))
  }

  // MARK: - Ended

  private static let notShown = "If an accepted push is not shown, see docs/after-apns.md."
  private static let gone = [ReasonCount(reason: "Unregistered", count: 1)]

  @Test func `an accepted job`() {
    let explanation = explain(.ended(.accepted), record(.accepted, accepted: 2))
    #expect(explanation.state == .ended)
    #expect(explanation.outcome == "APNs accepted it for 2 devices. \(Self.notShown)")
    #expect(explanation.steps.map(\.sentence) == ["Worker w claimed it.", "APNs accepted it for 2 devices."])
    #expect(explanation.next == nil)
    #expect(explanation.advice == nil)
  }

  @Test func `what Apple's console finds a push by is told, of the first devices`() {
    var sent = record(.accepted)
    for number in 1...7 {
      sent.add(
        DeviceResult(
          token: "token-\(number)", ok: true, status: 200, apnsID: "a", uniqueID: number == 1 ? nil : "u\(number)"),
        as: .accepted)
    }
    let told = explain(.ended(.accepted), sent).steps.filter { $0.kind == .note }.map(\.sentence)
    #expect(told.count == 5)
    #expect(told.first == "Apple's Push Notifications Console finds the push to token-2 by apns-unique-id u2.")
  }

  @Test func `a job that some devices refused`() {
    let explanation = explain(.ended(.partial), record(.partial, accepted: 2, failed: Self.gone))
    #expect(
      explanation.outcome == "APNs accepted it for 2 of 3 devices; 1 did not get it: Unregistered. \(Self.notShown)")
    #expect(
      explanation.advice
        == "Nothing, if the app was deleted from the device. It registers again when the app is opened there.")
  }

  @Test func `a job that all devices refused`() {
    let failed = [ReasonCount(reason: "BadDeviceToken", count: 2), ReasonCount(reason: "", count: 1)]
    let explanation = explain(.ended(.failed), record(.failed, failed: failed))
    #expect(explanation.outcome == "No device got it: BadDeviceToken (2), no reason given (1).")
    #expect(explanation.advice?.hasPrefix("Check that the token is of the right environment") == true)
  }

  private static let unsent: [(JobStatus, String?, String, String?)] = [
    (
      .noDevices, nil, "It was not sent, because the addressee has no devices.",
      "See why: martlet explain --user NAME (or --instance ID), with the addressee of the job."
    ),
    (
      .duplicate, nil,
      "It was not sent, because another job with the same dedupe value was sent within 24 hours before.",
      "Nothing, if the producer repeated the job. Otherwise give jobs different dedupe values."
    ),
    (
      .expired, nil, "It was not sent, because its expiration had passed.",
      "Give it a later expiration or ttl, or run more workers if jobs wait long: martlet status"
    ),
    (
      .unsent, nil,
      "It was not pushed, because APNs is not configured (polling-only mode); the addressee can poll for it.",
      "To have it pushed, set APNS_KEY_ID, APNS_TEAM_ID, APNS_BUNDLE_ID and APNS_PRIVATE_KEY for the workers."
    ),
    (.cancelled, nil, "It was not sent, because an operator cancelled it.", nil),
    (
      .suppressed, "limit",
      "It was not sent, because a delivery policy suppressed it: the instance already got as many notifications as its "
        + "limit allows.", JobExplanationTests.policyAdvice
    ),
    (
      .suppressed, "collapsed",
      "It was not sent, because a delivery policy suppressed it: a notification that it collapses with was just sent, or "
        + "is held.", JobExplanationTests.policyAdvice
    ),
    (
      .suppressed, "spacing",
      "It was not sent, because a delivery policy suppressed it: a notification of its class was sent shortly before.",
      JobExplanationTests.policyAdvice
    ),
    (
      .suppressed, "quiet_hours",
      "It was not sent, because a delivery policy suppressed it: its class is not sent in quiet hours.",
      JobExplanationTests.policyAdvice
    ),
    (
      .suppressed, "rhythm",
      "It was not sent, because a delivery policy suppressed it: its class is not sent shortly before quiet hours.",
      JobExplanationTests.policyAdvice
    ),
  ]

  @Test func `a job to devices of a kind that the user lacks names the kind`() {
    let history: [(Int64, HistoryEvent)] = [(Self.now - 2000, .resolved(devices: 0, removed: [], pushType: .voip))]
    let explanation = explain(.ended(.noDevices), record(.noDevices, history: history))
    #expect(explanation.outcome == "It was not sent, because the addressee has no devices of the kind voip.")
    #expect(explanation.steps.map(\.sentence) == ["The addressee has no device of the kind voip."])
  }

  @Test func `a job to a channel went to environments`() {
    let refused = [ReasonCount(reason: "ChannelNotRegistered", count: 1)]
    let history: [(Int64, HistoryEvent)] = [
      (Self.now, .channel(environments: 2)), (Self.now, .answered(HistoryAnswers(accepted: 1, refused: refused))),
    ]
    let accepted = explain(.ended(.accepted), record(.accepted, accepted: 2, history: history))
    #expect(accepted.outcome == "APNs accepted it for 2 environments. \(Self.notShown)")
    #expect(
      accepted.steps.map(\.sentence) == [
        "The channel exists in 2 environments.",
        "APNs accepted it for 1 environment; 1 environment did not get it: ChannelNotRegistered.",
      ])
    let failed = explain(.ended(.failed), record(.failed, history: history))
    #expect(failed.outcome.hasPrefix("No environment got it"))
  }

  @Test(arguments: unsent)
  func `a job that was not sent`(status: JobStatus, reason: String?, outcome: String, advice: String?) {
    let explanation = explain(.ended(status), record(status, reason: reason))
    #expect(explanation.state == .ended)
    #expect(explanation.outcome == outcome)
    #expect(explanation.advice == advice)
    #expect(explanation.next == nil)
  }

  private static let policyAdvice = "Nothing, if the policy is as it should be: docs/policy.md, MARTLET_POLICY_FILE."

  @Test func `a job that was cancelled after some devices had it`() {
    let explanation = explain(.ended(.cancelled), record(.cancelled, accepted: 1))
    #expect(explanation.outcome == "An operator cancelled it after APNs had accepted it for 1 device. \(Self.notShown)")
  }

  @Test(arguments: JobStatus.allCases) func `every status has a sentence`(status: JobStatus) {
    let explanation = explain(.ended(status), record(status))
    #expect(explanation.outcome.hasSuffix("."))
    #expect(explanation.status == status.rawValue)
    #expect(explanation.isKnown)
  }

  // MARK: - Not ended

  @Test func `a job that waits tells its place and when it is taken`() {
    let job = #"{"id":"j","to":{"user":"alice"},"title":"T","enqueuedAt":1795264190000}"#
    let explanation = explain(.waiting(place: 250, of: 300), job: job)
    #expect(explanation.state == .waiting)
    #expect(explanation.outcome == "It waits in push:jobs behind 250 jobs.")
    #expect(explanation.steps == [ExplainedStep(at: Self.now - 10_000, .enqueued, "Its producer enqueued it.")])
    #expect(
      explanation.next
        == ExplainedStep(
          at: Self.now + 2500, .waiting, "A worker claims it in about 2 s, at the present 100 jobs per second."))
    #expect(explain(.waiting(place: 0, of: 1)).outcome == "It is the next job of push:jobs.")
    #expect(explain(.waiting(place: 1, of: 2)).outcome == "It waits in push:jobs behind 1 job.")
  }

  @Test func `a job of a paused queue, and one without a worker`() {
    var facts = facts(.waiting(place: 0, of: 1))
    facts.pause = QueuePause(since: 1, by: "erin", reason: "a new key")
    let paused = JobExplanation(facts)
    #expect(paused.outcome == "It is the next job of push:jobs, and the queue is paused.")
    #expect(paused.steps == [ExplainedStep(at: 1, .control, "Operator erin paused push:jobs: a new key.")])
    #expect(paused.next?.sentence == "Nothing, until the queue is resumed.")
    facts.location.place = .retry(due: Self.now + 1)
    #expect(JobExplanation(facts).next == paused.next)
    #expect(JobExplanation(facts).advice == paused.advice)
    facts.location.place = .inFlight(worker: "w")
    #expect(JobExplanation(facts).advice == nil)
    #expect(paused.advice == "Resume the queue: martlet queue resume push:jobs")
    let alone = JobExplanation(self.facts(.waiting(place: 0, of: 1), workers: []))
    #expect(alone.next?.sentence == "Nothing, until a worker runs.")
    #expect(alone.advice == "Start a worker, or let one serve push:jobs: MARTLET_QUEUES.")
  }

  @Test func `a job in flight, with a worker that lives and one that died`() {
    let alive = explain(.inFlight(worker: "w"))
    #expect(alive.outcome == "It is in flight at worker w.")
    #expect(alive.next?.sentence == "The worker ends the attempt and writes the record.")
    let dead = explain(.inFlight(worker: "v"))
    #expect(dead.outcome == "It was in flight at worker v, which died.")
    #expect(dead.next?.sentence == "Another worker takes it over, within 20 s.")
  }

  @Test func `a job that is scheduled, and one that a policy holds`() {
    let due = Self.now + 3_600_000
    let job = #"{"id":"j","to":{"user":"alice"},"title":"T","sendAt":\#(due)}"#
    let scheduled = explain(.scheduled(due: due), job: job)
    #expect(scheduled.state == .scheduled)
    #expect(scheduled.outcome == "It was not sent yet: it is scheduled for 14:30:00.")
    #expect(scheduled.steps.map(\.sentence) == ["It is not to be sent before 14:30:00."])
    #expect(scheduled.next == ExplainedStep(at: due, .scheduled, "A worker claims and sends it."))
    let held = explain(.scheduled(due: due), record(.deferred, reason: "quiet_hours"))
    #expect(held.state == .deferred)
    #expect(held.outcome == "It was not sent yet: a delivery policy holds it until quiet hours end.")
    #expect(held.next == ExplainedStep(at: due, .policy, "The delivery policy decides again whether it is sent."))
  }

  @Test func `a job that is tried again`() {
    let history: [(Int64, HistoryEvent)] = [
      (-2000, .claimed(worker: "w", attempt: 1, waited: 250)), (-1000, .retry(at: Self.now + 5000, reason: "busy")),
    ]
    let record = record(.retrying, reason: "InternalServerError", history: history)
    let explanation = explain(.retry(due: Self.now + 5000), record)
    #expect(explanation.state == .retrying)
    #expect(explanation.outcome == "It was not delivered yet and is tried again: InternalServerError.")
    #expect(
      explanation.steps.map(\.sentence) == [
        "Worker w claimed it, 250 ms after it was due.", "Attempt 2 was planned for 13:30:05: busy.",
      ])
    #expect(explanation.next == ExplainedStep(at: Self.now + 5000, .retry, "Attempt 2 begins."))
    #expect(
      explanation.advice
        == "Wait: APNs has a fault of its own. See https://developer.apple.com/system-status/.")
  }

  @Test func `a job of a paused route tells what to fix`() {
    var facts = facts(.retry(due: Self.now), record(.retrying, reason: "TopicDisallowed"))
    facts.workers["w"]?.pausedRoutes = [
      RouteNotice(environment: .production, topic: "com.a", reason: "TopicDisallowed", since: 1)
    ]
    #expect(JobExplanation(facts).advice?.hasPrefix("Check the bundle id") == true)
  }

  @Test func `a job whose app is slow, and a broadcast that is paused`() {
    let busy = explain(.retry(due: Self.now), record(.retrying, reason: "AppBusy: …"))
    #expect(
      busy.outcome
        == "It was not sent yet: APNs answers slowly for its app, which has as many pushes in flight as it may have.")
    let paused = explain(.paused, record(.retrying, reason: "Paused: …"))
    #expect(paused.outcome == "An operator has paused it.")
    #expect(paused.advice == "Resume it: martlet broadcast resume j")
  }

  // MARK: - Dead, unknown

  @Test(arguments: [
    (
      "gave up after 8 attempts; last reason: TooManyRequests",
      "Send fewer pushes to this device, or let them replace each other with collapseId. Then: martlet dead requeue j"
    ),
    ("gave up after 8 attempts; last reason: odd", "Remove the cause. Then: martlet dead requeue j"),
    (
      "Uncertain: APNs may have delivered it, no answer arrived",
      "Decide whether it may be shown twice. If so, martlet dead requeue j sends it to the devices without an answer."
    ),
    (
      "crashed 4 workers in a row",
      "Read the logs of the workers that died. If the job was not the cause: martlet dead requeue j"
    ),
    (
      "expired before it could be retried; last reason: x",
      "Nothing, if it is of no use any more. Otherwise send a new job."
    ),
    (
      "title: expected a string, found a number",
      "Correct the producer and send the job again; a dead letter cannot be changed."
    ),
  ])
  func `a dead letter tells what to do`(reason: String, advice: String) {
    let explanation = explain(.dead(since: Self.now, reason: reason))
    #expect(explanation.state == .dead)
    #expect(explanation.outcome == "It was given up and is in the dead letters: \(reason).")
    #expect(
      explanation.next?.sentence == "Nothing: it stays in the dead letters until it is requeued or purged.")
    #expect(explanation.advice == advice)
  }

  @Test func `an unknown job`() {
    let explanation = explain(.unknown(isWaitingPossible: false))
    #expect(!explanation.isKnown)
    #expect(
      explanation.outcome
        == "Nothing is known of it: no worker has claimed a job with this id, or its record has expired or was not kept."
    )
    #expect(explanation.next == nil)
    #expect(explanation.advice?.hasPrefix("Check the id, and that the queue is one of MARTLET_QUEUES.") == true)
    let long = explain(.unknown(isWaitingPossible: true))
    #expect(long.outcome == "It was not found. A queue is too long to be searched whole: it may wait there.")
    #expect(
      long.advice
        == "Only the beginning and the end of a long queue are searched. Try again when the queue is shorter, or the job was claimed."
    )
  }

  @Test func `the history of a job without a record is that of the job itself`() {
    var facts = facts(.retry(due: Self.now + 1000))
    var state = AttemptState()
    state.history.append(Self.now - 5, .claimed(worker: "w", attempt: 1, waited: nil))
    facts.location.envelope = Envelope(attempts: 1, nonce: "n", state: state.json(), job: [])
    let explanation = JobExplanation(facts)
    #expect(explanation.steps.map(\.sentence) == ["Worker w claimed it."])
    #expect(explanation.next == ExplainedStep(at: Self.now + 1000, .retry, "Attempt 2 begins."))
  }
}
