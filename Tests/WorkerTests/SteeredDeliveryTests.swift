import EventLoop
import Jobs
import Queue
import TestSupport
import Testing

@testable import Worker

@EventLoop
struct SteeredDeliveryTests {
  private func delivery() throws -> Delivery {
    try Delivery.testing(#"{"id":"a","to":{"app":"com.example"},"title":"x"}"#)
  }

  @Test func `an attempt that has tried everything is not cancelled any more`() throws {
    let delivery = try delivery()
    #expect(!delivery.isUnfinished(after: .complete))
    delivery.tally.leaveOpen("t", reason: nil, after: .zero, isFault: true)
    #expect(delivery.isUnfinished(after: .complete))
    delivery.tally.open = []
    for extent in [AttemptExtent.cutShort, .untouched] { #expect(delivery.isUnfinished(after: extent)) }
  }

  @Test func `an invalid job is buried even if it is cancelled`() throws {
    let delivery = try delivery()
    delivery.tally.badJobReason = "PayloadTooLarge"
    #expect(!delivery.isUnfinished(after: .cutShort))
  }

  @Test func `operators see what a broadcast does after each outcome`() {
    #expect(JobOutcome.cancelled(after: .cutShort).broadcastState == .cancelled)
    #expect(JobOutcome.paused(after: .cutShort).broadcastState == .paused)
    #expect(JobOutcome.postponed().broadcastState == .waiting)
    #expect(JobOutcome(status: .partial, exit: .acknowledge).broadcastState == .finished)
    #expect(JobOutcome(status: .dead, exit: .bury(reason: "r")).broadcastState == .finished)
  }

  @Test func `a cancelled job has ended, and leaves nothing to read`() {
    #expect(JobStatus.cancelled.isFinal)
    #expect(!JobStatus.cancelled.leavesUserUnreached)
  }
}
