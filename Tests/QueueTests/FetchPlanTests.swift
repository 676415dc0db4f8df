import Testing

@testable import Jobs
@testable import Queue

struct FetchPlanTests {
  private func started(queues: Int = 3, batch: Int = 128, permits: Int = 512) -> FetchPlan {
    var plan = FetchPlan(queueCount: queues, batch: batch, permits: permits)
    plan.start()
    return plan
  }

  @Test func `nothing is claimed without a permit`() {
    var plan = started()
    #expect(plan.next(permits: 0) == .wait)
  }

  @Test func `the first queue is always asked first`() {
    var plan = started()
    #expect(plan.next(permits: 512) == .claim(queueIndex: 0, upTo: 128))
    #expect(plan.claimed(128) == .wait)
    #expect(plan.next(permits: 384) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `what the first queue has not is asked of the next`() {
    var plan = started()
    _ = plan.next(permits: 512)
    #expect(plan.claimed(28) == .claim(queueIndex: 1, upTo: 100))
    #expect(plan.claimed(0) == .claim(queueIndex: 2, upTo: 100))
    #expect(plan.claimed(1) == .block)
  }

  @Test func `a claim that ended early for its bytes is followed by another of the first queue`() {
    var plan = started()
    _ = plan.next(permits: 512)
    #expect(plan.claimed(3, hasMore: true) == .wait)
    #expect(plan.next(permits: 509) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `blocking begins only when every queue was found empty and ends with a job`() {
    var plan = started(queues: 1)
    #expect(!plan.isIdle)
    _ = plan.next(permits: 512)
    #expect(plan.claimed(0) == .block)
    #expect(plan.isIdle)
    #expect(plan.next(permits: 512) == .wait)
    plan.expectJobs()
    #expect(plan.next(permits: 512) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `a few permits wait a moment for more, but not for ever`() {
    var plan = started()
    #expect(plan.next(permits: 3) == .gather)
    #expect(plan.next(permits: 3, hasGathered: true) == .claim(queueIndex: 0, upTo: 3))
  }

  @Test func `with one permit in all there is nothing to wait for`() {
    var plan = started(permits: 1)
    #expect(plan.next(permits: 1) == .claim(queueIndex: 0, upTo: 1))
  }

  @Test func `a paused plan claims nothing until it goes on`() {
    var plan = started()
    plan.pause(true)
    #expect(plan.next(permits: 512) == .wait)
    plan.pause(false)
    #expect(plan.next(permits: 512) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `a failed claim starts over with the first queue`() {
    var plan = started()
    _ = plan.next(permits: 512)
    _ = plan.claimed(0)
    plan.claimFailed()
    #expect(plan.next(permits: 512) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `a stopped plan claims nothing and blocks on nothing`() {
    var plan = started()
    plan.stop()
    #expect(plan.next(permits: 512) == .wait)
    #expect(!plan.isIdle)
  }

  @Test func `a backlog unblocks the queues behind it only`() {
    let plan = started()
    #expect((0..<3).map { plan.mustUnblock($0, afterFullClaimOf: 1) } == [false, false, true])
  }
}
