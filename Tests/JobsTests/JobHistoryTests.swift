import JSON
import PushModel
import Testing
@testable import Jobs

struct JobHistoryTests {
  private static let every: [HistoryEvent] = {
    var policy = HistoryPolicy(policy: "nyra", className: "ping", decision: .suppress, rule: "limit")
    policy.limit = 3
    policy.used = 4
    policy.seconds = 300
    policy.until = 9
    var answers = HistoryAnswers(
      accepted: 1, refused: [ReasonCount(reason: "Unregistered", count: 2)], open: [ReasonCount(reason: "", count: 1)])
    answers.device = "0000feed…"
    answers.status = 410
    return [
      .claimed(worker: "w", attempt: 1, waited: nil), .claimed(worker: "w", attempt: 2, waited: 12),
      .takenOver(crashes: 2), .resolved(devices: 0, removed: []), .resolved(devices: 0, removed: [], pushType: .voip),
      .resolved(devices: 2, removed: [ReasonCount(reason: "other_owner", count: 1)]), .channel(environments: 2),
      .policy(policy),
      .policy(HistoryPolicy(policy: "nyra", className: "ping", decision: .send)), .answered(answers),
      .answered(HistoryAnswers()), .retry(at: 5, reason: nil), .retry(at: 5, reason: "busy"),
      .postponed(until: 5, reason: "x", times: 1), .postponed(until: 5, reason: "y", times: 3), .deferred(until: 7),
      .paused, .buried(reason: "gave \"up\"\n"), .ended(.suppressed, reason: "limit"), .ended(.noDevices, reason: nil),
      .omitted(3),
    ]
  }()

  private func history(_ events: [HistoryEvent]) -> JobHistory {
    JobHistory(events.enumerated().map { HistoryEntry(at: Int64($0), $1) })
  }

  private func json(_ history: JobHistory) -> [UInt8] {
    var writer = JSONWriter()
    history.write(to: &writer)
    return writer.bytes
  }

  @Test func `every event is read as it was written, in the record and in the state of an attempt`() {
    let history = history(Self.every)
    var result = JobResult(id: "j", status: .dead, worker: "w", claimedAt: 1)
    result.history = history
    #expect(JobResult(parsing: result.json()) == result)
    var state = AttemptState()
    state.history = history
    #expect(AttemptState(json: state.json()) == state)
  }

  @Test func `a job without history has none in its record and in its state`() {
    let result = JobResult(id: "j", status: .accepted, worker: "w", claimedAt: 1)
    #expect(!String(decoding: result.json(), as: UTF8.self).contains("history"))
    #expect(AttemptState().json().isEmpty)
  }

  @Test func `entries have the documented form`() {
    let history = history([.claimed(worker: "w", attempt: 1, waited: 3), .retry(at: 9, reason: "busy")])
    #expect(
      String(decoding: json(history), as: UTF8.self)
        == #"[{"at":0,"event":"claimed","worker":"w","attempt":1,"waited":3},"#
        + #"{"at":1,"event":"retry","due":9,"reason":"busy"}]"#)
  }

  @Test func `a full history keeps its beginning and its end and counts what it dropped`() {
    var history = JobHistory()
    for attempt in 1...200 { history.append(Int64(attempt), .claimed(worker: "w", attempt: attempt, waited: nil)) }
    #expect(history.entries.count == JobHistory.maximumEntries)
    #expect(history.entries.first?.event == .claimed(worker: "w", attempt: 1, waited: nil))
    #expect(history.entries.last?.event == .claimed(worker: "w", attempt: 200, waited: nil))
    let omitted = history.entries.compactMap { entry in if case .omitted(let count) = entry.event { count } else { nil }
    }
    #expect(omitted == [200 - JobHistory.maximumEntries + 1])
  }

  @Test func `long reasons from outside do not make a history large`() {
    var history = JobHistory()
    let long = String(repeating: "ü\u{0}", count: 40_000)
    let reasons = (0..<32).map { ReasonCount(reason: "\($0)\(long)", count: 1) }
    for _ in 0..<60 {
      history.append(1, .answered(HistoryAnswers(refused: reasons, open: reasons)))
      history.append(1, .buried(reason: long))
    }
    #expect(json(history).count <= JobHistory.maximumBytes)
    #expect(history.entries.count > 4)
    #expect(JobHistory(try? JSONValue(parsing: json(history))) == history)
  }

  @Test func `a job that is postponed again and again has one entry for that`() {
    var history = JobHistory()
    for time in 0..<100 as Range<Int64> {
      history.append(time, .claimed(worker: "w", attempt: 1, waited: nil))
      history.append(time, .postponed(until: time + 5, reason: "AppBusy", times: 1))
    }
    #expect(history.entries.count == 2)
    #expect(history.entries.last == HistoryEntry(at: 99, .postponed(until: 104, reason: "AppBusy", times: 100)))
    history.append(100, .claimed(worker: "w", attempt: 1, waited: nil))
    history.append(100, .postponed(until: 105, reason: "another", times: 1))
    #expect(history.entries.count == 4)
  }

  @Test(arguments: [
    "7", "{}", "[7,{}]", #"[{"at":1}]"#, #"[{"at":1,"event":"what"}]"#, #"[{"at":"x","event":"held"}]"#,
    #"[{"at":1,"event":"ended","status":"what"}]"#, #"[{"at":1,"event":"policy"}]"#,
  ])
  func `what is no entry is left out`(text: String) throws {
    #expect(JobHistory(try JSONValue(parsing: Array(text.utf8))).isEmpty)
  }

  @Test func `an entry with a time that cannot be one is left out, and other numbers count as absent`() throws {
    let text =
      #"[{"at":-9223372036854775808,"event":"omitted","count":9223372036854775807},"#
      + #"{"at":1,"event":"postponed","due":9223372036854775807,"times":-5}]"#
    let history = JobHistory(try JSONValue(parsing: Array(text.utf8)))
    #expect(history.entries.map(\.event) == [.postponed(until: 0, reason: nil, times: 1)])
  }
}
