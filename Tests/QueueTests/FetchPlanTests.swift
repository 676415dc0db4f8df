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
    #expect(plan.beginTurn(permits: 0) == .wait)
  }

  @Test func `every turn begins with the first queue`() {
    var plan = started()
    #expect(plan.beginTurn(permits: 512) == .claim(queueIndex: 0, upTo: 128))
    #expect(plan.finishClaim(count: 128) == .wait)
    #expect(plan.beginTurn(permits: 384) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `permits that one queue leaves over are used for the next`() {
    var plan = started()
    _ = plan.beginTurn(permits: 512)
    #expect(plan.finishClaim(count: 28) == .claim(queueIndex: 1, upTo: 100))
    #expect(plan.finishClaim(count: 0) == .claim(queueIndex: 2, upTo: 100))
    #expect(plan.finishClaim(count: 1) == .block)
  }

  @Test func `after a claim that ended early because of its bytes the first queue is asked again`() {
    var plan = started()
    _ = plan.beginTurn(permits: 512)
    #expect(plan.finishClaim(count: 3, hasMore: true) == .wait)
    #expect(plan.beginTurn(permits: 509) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `waiting begins only when every queue was found empty, and ends with a job`() {
    var plan = started(queues: 1)
    #expect(!plan.isIdle)
    _ = plan.beginTurn(permits: 512)
    #expect(plan.finishClaim(count: 0) == .block)
    #expect(plan.isIdle)
    #expect(plan.beginTurn(permits: 512) == .wait)
    plan.expectJobs()
    #expect(plan.beginTurn(permits: 512) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `few permits wait a moment for more, and are then used`() {
    var plan = started()
    #expect(plan.beginTurn(permits: 3) == .gather)
    #expect(plan.beginTurn(permits: 3, hasGathered: true) == .claim(queueIndex: 0, upTo: 3))
  }

  @Test func `with one permit in all there is no wait for more`() {
    var plan = started(permits: 1)
    #expect(plan.beginTurn(permits: 1) == .claim(queueIndex: 0, upTo: 1))
  }

  @Test func `a paused plan claims nothing until it is resumed`() {
    var plan = started()
    plan.pause(true)
    #expect(plan.beginTurn(permits: 512) == .wait)
    plan.pause(false)
    #expect(plan.beginTurn(permits: 512) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `after a failed claim the first queue is asked again`() {
    var plan = started()
    _ = plan.beginTurn(permits: 512)
    _ = plan.finishClaim(count: 0)
    plan.failClaim()
    #expect(plan.beginTurn(permits: 512) == .claim(queueIndex: 0, upTo: 128))
  }

  @Test func `a stopped plan neither claims nor waits`() {
    var plan = started()
    plan.stop()
    #expect(plan.beginTurn(permits: 512) == .wait)
    #expect(!plan.isIdle)
  }

  @Test func `a backlog ends the waits on the queues behind it only`() {
    let plan = started()
    #expect((0..<3).map { plan.mustUnblock($0, afterFullClaimOf: 1) } == [false, false, true])
  }
}
