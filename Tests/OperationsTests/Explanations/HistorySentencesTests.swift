import Testing

@testable import Operations
@testable import Jobs

/// The sentence of each event of a history.
struct HistorySentencesTests {
  /// 13:30:00 where the tests are.
  private static let now: Int64 = 1_795_264_200_000
  private static let text = TimeText(now: now, localTime: LocalTime { _ in 3600 })

  private func sentences(_ events: HistoryEvent...) -> [String] {
    let history = JobHistory(events.map { HistoryEntry(at: Self.now, $0) })
    return HistorySentences.steps(of: history, Self.text).map(\.sentence)
  }

  @Test func `claims and crashes`() {
    #expect(
      sentences(
        .claimed(worker: "w", attempt: 1, waited: 12_000), .takenOver(crashes: 1), .takenOver(crashes: 3),
        .claimed(worker: "v", attempt: 2, waited: nil)) == [
          "Worker w claimed it, 12 s after it was due.",
          "A worker died while it held the job, which went back to its queue.",
          "3 workers in a row died while they held the job, which went back to its queue.",
          "Worker v claimed it for attempt 2.",
        ])
  }

  @Test func `devices`() {
    let removed = [ReasonCount(reason: "other_owner", count: 1), ReasonCount(reason: "no_metadata", count: 2)]
    #expect(
      sentences(
        .resolved(devices: 0, removed: []), .resolved(devices: 1, removed: []), .resolved(devices: 2, removed: removed),
        .claimed(worker: "w", attempt: 2, waited: nil), .resolved(devices: 1, removed: [])) == [
          "The addressee has no device.", "The addressee has 1 device.",
          "The addressee has 2 devices; 3 entries of its set were removed: registered to another user now (1), "
            + "registration expired or deleted (2).",
          "Worker w claimed it for attempt 2.", "1 device is left to send to.",
        ])
  }

  @Test func `answers of several devices`() {
    let gone = [ReasonCount(reason: "Unregistered", count: 1)]
    let busy = [ReasonCount(reason: "InternalServerError", count: 2), ReasonCount(reason: "TooManyRequests", count: 1)]
    #expect(
      sentences(.answered(HistoryAnswers(accepted: 2, refused: gone, open: busy))) == [
        "APNs accepted it for 2 devices; 1 device did not get it: Unregistered; 3 devices will be tried again: "
          + "InternalServerError (2), TooManyRequests (1)."
      ])
  }

  private func single(
    _ accepted: Int = 0, refused: String? = nil, open: String? = nil, status: Int? = nil
  ) -> HistoryEvent {
    var answers = HistoryAnswers(
      accepted: accepted, refused: refused.map { [ReasonCount(reason: $0, count: 1)] } ?? [],
      open: open.map { [ReasonCount(reason: $0, count: 1)] } ?? [])
    answers.device = "0000feed…"
    answers.status = status
    return .answered(answers)
  }

  @Test func `answers of one device`() {
    #expect(
      sentences(
        single(1), single(refused: "Unregistered", status: 410), single(refused: "UnsupportedPlatform"),
        single(refused: "PayloadTooLarge"),
        single(open: "InternalServerError"), single(open: "Uncertain: the connection was reset"),
        single(refused: "Uncertain: the connection was reset")) == [
          "APNs accepted it for device 0000feed….", "APNs refused it for device 0000feed…: Unregistered (410).",
          "It was not sent to device 0000feed…: UnsupportedPlatform.",
          "It was not sent to device 0000feed…: PayloadTooLarge.",
          "Device 0000feed… could not be reached for now: InternalServerError.",
          "APNs did not answer for device 0000feed…: the connection was reset.",
          "APNs did not answer for device 0000feed…: the connection was reset.",
        ])
  }

  @Test func `what was planned, held, given up and left out`() {
    let due = Self.now + 65_000
    #expect(
      sentences(
        .retry(at: due, reason: nil), .postponed(until: due, reason: "AppBusy", times: 1), .deferred(until: due),
        .paused, .buried(reason: "gave up"), .ended(.noDevices, reason: nil), .omitted(1), .omitted(2)) == [
          "Attempt 2 was planned for 13:31:05.",
          "It was postponed until 13:31:05, without counting an attempt: AppBusy.",
          "It was held until 13:31:05.", "An operator had paused it.",
          "It was given up and put into the dead letters: gave up.", "The end was recorded: no_devices.",
          "Left out up to here: 1 event.", "Left out up to here: 2 events.",
        ])
    #expect(
      sentences(.postponed(until: due, reason: "x", times: 22)) == [
        "It was postponed until 13:31:05 for the 22nd time in a row, without counting an attempt: x."
      ])
  }

  private func policy(_ decision: HistoryPolicy.Decision, _ rule: String? = nil, limit: Bool = false) -> HistoryEvent {
    var policy = HistoryPolicy(policy: "nyra", className: "ping", decision: decision, rule: rule)
    policy.until = Self.now + 60_000
    policy.seconds = 300
    if limit { (policy.limit, policy.used) = (3, 3) }
    return .policy(policy)
  }

  @Test func `decisions of a policy`() {
    #expect(
      sentences(
        policy(.send), policy(.hold, "quiet_hours"), policy(.suppress, "limit", limit: true),
        policy(.suppress, "limit"),
        policy(.suppress, "collapsed"), policy(.suppress, "spacing"), policy(.suppress, "quiet_hours"),
        policy(.suppress, "rhythm"), policy(.suppress, "new")) == [
          "Policy nyra allowed it (class ping).", "Policy nyra holds class ping in quiet hours, until 13:31:00.",
          "Policy nyra suppressed it: 3 of 3 notifications were sent in 5 min; the next is allowed at 13:31:00.",
          "Policy nyra suppressed it: its limit was reached; the next is allowed at 13:31:00.",
          "Policy nyra suppressed it: one that class ping collapses with was sent or held; the next is allowed at "
            + "13:31:00.",
          "Policy nyra suppressed it: class ping allows one in 5 min; the next is allowed at 13:31:00.",
          "Policy nyra suppressed it: class ping is not sent in quiet hours, which end at 13:31:00.",
          "Policy nyra suppressed it: class ping is not sent shortly before quiet hours, which begin at 13:31:00.",
          "Policy nyra suppressed it: new.",
        ])
  }
}
