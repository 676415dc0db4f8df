import Testing

@testable import Jobs
@testable import Operations
@testable import Queue

/// What is said about a job to a Live Activity.
struct LiveActivityJobTests {
  private static let now: Int64 = 1_795_264_200_000

  private func explain(
    _ place: JobLocation.Place, _ status: JobStatus?, reason: String? = nil, job: String? = nil,
    state: AttemptState = AttemptState()
  ) -> JobExplanation {
    var location = JobLocation(id: "j", place: place)
    location.queue = "push:jobs"
    location.record = status.map {
      JobResult(id: "j", status: $0, reason: reason, worker: "w", claimedAt: Self.now, finishedAt: Self.now)
    }
    if let job { location.envelope = Envelope(nonce: "n", state: state.json(), job: Array(job.utf8)) }
    var facts = JobFacts(location: location, now: Self.now, localTime: LocalTime { _ in 3600 })
    facts.workers["w"] = WorkerReport(
      startedAt: 1, jobs: 2, jobsPerSecond: 100, outstanding: 3, inFlight: 4, concurrency: 512)
    return JobExplanation(facts)
  }

  @Test func `a job that lost to a newer state says to which`() {
    let explanation = explain(.ended(.superseded), .superseded, reason: "superseded by goal-2")
    #expect(
      explanation.outcome
        == "It was not sent, because job goal-2 has brought a newer state of the Live Activity, or its end.")
    #expect(
      explain(.ended(.superseded), .superseded).outcome
        == "It was not sent, because another job has brought a newer state of the Live Activity, or its end.")
  }

  @Test func `a job that waits for a token says until when, and what to do`() {
    var state = AttemptState()
    state.expiresAt = Self.now + 3_600_000
    let explanation = explain(
      .scheduled(due: Self.now + 5000), .deferred, reason: "no_token_yet",
      job: #"{"to":{"activity":"match"},"liveActivity":{"event":"update","contentState":{}}}"#, state: state)
    #expect(explanation.state == .deferred)
    #expect(
      explanation.outcome
        == "It was not sent yet: the Live Activity has no update token of a user whom the state is for. It is sent when the app registers one."
    )
    #expect(explanation.next?.at == Self.now + 5000)
    #expect(
      explanation.next?.sentence
        == "It looks for an update token; the registration of one makes it look at once, until 14:30:00 at the latest.")
    #expect(explanation.advice?.hasSuffix("martlet explain --activity match") == true)
  }

  @Test func `a start of an activity that runs on all devices is no repeated dedupe value`() {
    let explanation = explain(.ended(.duplicate), .duplicate, reason: "StartedBefore")
    #expect(
      explanation.outcome == "It was not sent, because another job has started the Live Activity on all devices.")
    #expect(explanation.advice == nil)
  }

  @Test func `a number in the state that looks like a Unix time is pointed out`() {
    let job = #"{"to":{"activity":"m"},"liveActivity":{"event":"update","contentState":{"endsAt":1795264200}}}"#
    let steps = explain(.waiting(place: 0, of: 1), nil, job: job).steps
    #expect(steps.map(\.kind) == [.note])
    #expect(steps.first?.sentence.hasPrefix("liveActivity.contentState.endsAt looks like a Unix time.") == true)
  }
}
