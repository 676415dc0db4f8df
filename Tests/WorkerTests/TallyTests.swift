import Jobs
import PushModel
import TestSupport
import Testing

@testable import Worker

struct TallyTests {
  private func tally(isAtMostOnce: Bool = false) -> Tally {
    Tally(result: JobResult(id: "j", status: .retrying, worker: "w", claimedAt: 0), isAtMostOnce: isAtMostOnce)
  }

  private func push(_ token: String, _ outcome: PushOutcome, reason: String? = nil) -> EndedPush {
    EndedPush(token: DeviceToken(token), apnsID: "id-\(token)", outcome: outcome, status: 200, reason: reason)
  }

  @Test func `accepted, stale and failed pushes are counted and listed`() {
    var tally = tally()
    tally.record(push("a", .accepted))
    tally.record(push("b", .stale(unregisteredSince: 5), reason: "Unregistered"))
    tally.record(push("c", .failed, reason: "PayloadEmpty"))
    #expect(tally.result.accepted == 1)
    #expect(tally.result.failed == 2)
    #expect(tally.result.stale == 1)
    #expect(tally.result.results.map(\.token) == ["a", "b", "c"])
    #expect(tally.result.results.map(\.ok) == [true, false, false])
    #expect(tally.result.results.map(\.apnsID) == ["id-a", "id-b", "id-c"])
    #expect(tally.open.isEmpty)
  }

  @Test func `an open device is kept for the next attempt and not listed`() {
    var tally = tally()
    tally.record(push("a", .open(after: .seconds(3), isFault: true), reason: "NoConnection"))
    #expect(tally.open == ["a"])
    #expect(tally.wait == .seconds(3))
    #expect(tally.openReason == "NoConnection")
    #expect(tally.isFault)
    #expect(tally.result.results.isEmpty)
  }

  @Test func `one open device at fault makes the attempt count, and the longest wait applies`() {
    var tally = tally()
    tally.record(push("a", .open(after: .seconds(9), isFault: true)))
    tally.record(push("b", .open(after: .seconds(2), isFault: false)))
    #expect(!tally.isFault)
    #expect(tally.wait == .seconds(9))
  }

  @Test(arguments: [true, false])
  func `an uncertain device is open unless the job is at most once`(isAtMostOnce: Bool) {
    var tally = tally(isAtMostOnce: isAtMostOnce)
    tally.record(push("a", .uncertain, reason: "Uncertain: Timeout"))
    #expect(tally.open == (isAtMostOnce ? [] : ["a"]))
    #expect(tally.uncertain == (isAtMostOnce ? ["a"] : []))
    #expect(tally.result.uncertain == 1)
  }

  @Test func `the first reason of an invalid job is kept`() {
    var tally = tally()
    tally.record(push("a", .badJob, reason: "BadTopic"))
    tally.record(push("b", .badJob, reason: "BadPriority"))
    #expect(tally.badJobReason == "BadTopic")
  }

  @Test func `a device that APNs cannot reach fails with a reason of its own`() {
    var tally = tally()
    tally.recordUnreachable(["a", "b"].map { UnreachableDevice(token: $0, reason: Tally.unsupportedPlatform) })
    #expect(tally.result.failed == 2)
    #expect(tally.result.reasons.map(\.reason) == [Tally.unsupportedPlatform])
    #expect(tally.result.results.map(\.status) == [0, 0])
  }

  @Test func `merging a page adds its devices and keeps the worst`() {
    var (job, page) = (tally(), tally())
    job.record(push("a", .accepted))
    job.record(push("b", .open(after: .seconds(1), isFault: true), reason: "first"))
    page.record(push("c", .accepted))
    page.record(push("d", .open(after: .seconds(4), isFault: false), reason: "second"))
    job.merge(page)
    #expect(job.result.accepted == 2)
    #expect(job.open == ["b", "d"])
    #expect(job.openReason == "second")
    #expect(job.wait == .seconds(4))
    #expect(!job.isFault)
    job.merge(tally())
    #expect(job.openReason == "second")
  }
}
