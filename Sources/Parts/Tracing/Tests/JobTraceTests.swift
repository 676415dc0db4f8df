import EventLoop
import Jobs
import Testing

@testable import Tracing

/// Which jobs are recorded, and the spans that are made of an attempt.
@EventLoop
struct JobTraceTests {
  private static let sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  private static let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

  private func facts(_ status: JobStatus, waitingSince: Int64? = nil, reason: String? = nil) -> TracedJob {
    let result = JobResult(id: "j", status: status, reason: reason, attempts: 2, worker: "w", claimedAt: 2000)
    return TracedJob(id: "j", queue: "push:jobs", app: "com.example", result: result, waitingSince: waitingSince)
  }

  private func push(_ reason: String? = nil, status: Int = 200) -> JobTrace.Push {
    JobTrace.Push(
      start: 2_100_000_000, end: 2_200_000_000, status: status, reason: reason, apnsID: "id", token: "abcdef01…",
      topic: "com.example", environment: "sandbox")
  }

  private func trace() -> JobTrace { JobTrace(traceID: "t", parentID: "p", claimedAt: 2_000_000_000) }

  // MARK: - Sampling

  @Test func `the producer's trace decides, regardless of the ratio`() throws {
    let parent = try #require(TraceParent(Self.sampled))
    let trace = try #require(Tracer.trace(of: parent, jobID: "j", ratio: 0, claimedAt: 5))
    #expect(trace.traceID == parent.traceID)
    #expect(trace.parentID == parent.parentID)
    let other = try #require(TraceParent(Self.unsampled))
    #expect(Tracer.trace(of: other, jobID: "j", ratio: 1, claimedAt: 5) == nil)
  }

  @Test func `jobs without a trace are recorded by the ratio, each attempt alike`() {
    let ids = (0..<2000).map { "job-\($0)" }
    func recorded(_ ratio: Double) -> [String] {
      ids.filter { Tracer.trace(of: nil, jobID: $0, ratio: ratio, claimedAt: 0) != nil }
    }
    #expect(recorded(0) == [])
    #expect(recorded(1) == ids)
    let tenth = recorded(0.1)
    #expect((100...300).contains(tenth.count))
    #expect(recorded(0.1) == tenth)
    #expect(Set(tenth).isSubset(of: recorded(0.2)))
    let first = Tracer.trace(of: nil, jobID: "j", ratio: 1, claimedAt: 0)
    #expect(first?.traceID == Tracer.trace(of: nil, jobID: "j", ratio: 1, claimedAt: 9)?.traceID)
    #expect(first?.parentID == nil)
    #expect(first?.traceID.count == 32)
    #expect(first.flatMap { TraceParent("00-\($0.traceID)-\(TraceID.randomSpan())-01") } != nil)
  }

  // MARK: - Spans

  @Test func `a producer whose clock is thousands of years ahead waits for nothing`() {
    let spans = trace().spans(facts(.accepted, waitingSince: 253_402_300_799_999), end: 3_000_000_000)
    #expect(spans.map(\.start) == [2_000_000_000, 2_000_000_000])
  }

  @Test func `an attempt is a span with its parts as children`() {
    let trace = trace()
    trace.resolved()
    trace.ended(push())
    trace.ended(push("BadDeviceToken", status: 400))
    var number = 0
    let spans = trace.spans(facts(.partial, waitingSince: 1500), end: 3_000_000_000) {
      number += 1
      return "s\(number)"
    }
    #expect(spans.map(\.name) == ["martlet job", "wait", "resolve", "push", "push"])
    #expect(spans.map(\.id) == ["s1", "s2", "s3", "s4", "s5"])
    #expect(spans.map(\.parentID) == ["p", "s1", "s1", "s1", "s1"])
    #expect(spans.allSatisfy { $0.traceID == "t" && $0.start <= $0.end })
    #expect((spans[0].start, spans[0].end) == (1_500_000_000, 3_000_000_000))
    #expect((spans[1].start, spans[1].end) == (1_500_000_000, 2_000_000_000))
    #expect(spans[0].attributes.contains(.init(key: "messaging.message.id", value: .string("j"))))
    #expect(spans[0].attributes.contains(.init(key: "messaging.destination.name", value: .string("push:jobs"))))
    #expect(spans[0].attributes.contains(.init(key: "martlet.status", value: .string("partial"))))
    #expect(spans[0].attributes.contains(.init(key: "martlet.attempts", value: .integer(2))))
    #expect(spans[0].attributes.contains(.init(key: "martlet.app", value: .string("com.example"))))
    #expect(spans[4].attributes.contains(.init(key: "http.response.status_code", value: .integer(400))))
    #expect(spans.map(\.error) == [nil, nil, nil, nil, "BadDeviceToken"])
  }

  @Test func `a job that was given up is an error`() {
    #expect(trace().spans(facts(.dead, reason: "gave up"), end: 1)[0].error == "gave up")
    #expect(trace().spans(facts(.failed), end: 1)[0].error == "failed")
    #expect(trace().spans(facts(.retrying, reason: "later"), end: 1)[0].error == nil)
  }

  @Test func `clocks that disagree give no span that ends before it begins`() {
    let trace = trace()
    trace.ended(JobTrace.Push(start: 9, end: 3, status: 0, apnsID: "", token: "", topic: "", environment: ""))
    for waitingSince in [Int64.min, -1, 0, 1999, 2001, 4_000_000_000_000] {
      let spans = trace.spans(facts(.accepted, waitingSince: waitingSince), end: 0)
      #expect(spans.allSatisfy { $0.start <= $0.end })
    }
  }

  @Test func `pushes beyond the limit are counted`() {
    let trace = trace()
    for _ in 0..<1000 { trace.ended(push()) }
    let spans = trace.spans(facts(.accepted), end: 3_000_000_000)
    #expect(spans.count == 1 + JobTrace.maximumPushes)
    #expect(spans[0].attributes.contains(.init(key: "martlet.omitted_pushes", value: .integer(980))))
  }
}
