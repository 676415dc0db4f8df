import EventLoop
import Redis
import Testing

@testable import Jobs
@testable import Queue

struct PromotionAnswerTests {
  private func answer(_ moved: Int64, _ wait: Int64) -> PromotionAnswer? {
    PromotionAnswer(.array([.integer(moved), .integer(wait), .null]))
  }

  @Test func `a worker that is not elected tries again after the election interval`() {
    #expect(answer(-1, -1)?.isElected == false)
    #expect(answer(-1, -1)?.delayToNext == QueueLimits.electionInterval)
    #expect(answer(-1, -1)?.moved == 0)
  }

  @Test func `the promoter runs again when the next job is due, at the latest after its interval`() {
    #expect(answer(3, -1)?.isElected == true)
    #expect(answer(3, -1)?.moved == 3)
    #expect(answer(3, -1)?.delayToNext == QueueLimits.promoteInterval)
    #expect(answer(0, 5000)?.delayToNext == QueueLimits.promoteInterval)
    #expect(answer(0, 20)?.delayToNext == .milliseconds(20))
    #expect(answer(200, 0)?.delayToNext == .milliseconds(1))
  }

  @Test func `the answer tells every worker what is asked of the queue`() throws {
    let control = RedisValue.bytes(Array("7 PC\n{}".utf8))
    for moved in [-1, 0] as [Int64] {
      let answer = try #require(PromotionAnswer(.array([.integer(moved), .integer(-1), control])))
      #expect(answer.control?.flags == [.paused, .cancellations])
    }
    #expect(answer(0, -1)?.control == nil)
  }

  @Test func `any other value is not an answer`() {
    #expect(PromotionAnswer(.null) == nil)
    #expect(PromotionAnswer(.array([.integer(1)])) == nil)
  }
}
