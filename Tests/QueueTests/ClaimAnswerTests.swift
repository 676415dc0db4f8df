import Redis
import Testing

@testable import Jobs
@testable import Queue

struct ClaimAnswerTests {
  private func bytes(_ text: String) -> RedisValue { .bytes(Array(text.utf8)) }

  @Test func `an answer lists the claimed and the buried jobs`() throws {
    let large = RedisValue.array([.integer(70_000), bytes("MARTLET1 0 0 n 0\n{\"id\":\"a\",\"to\"")])
    let value = RedisValue.array([.integer(1), .integer(2), .array([large]), bytes("one"), bytes("two")])
    let answer = try #require(ClaimAnswer(value, queue: "q"))
    #expect(answer.elements == [Array("one".utf8), Array("two".utf8)])
    #expect(answer.oversized.map(\.size) == [70_000])
    #expect(answer.oversized.map(\.id) == ["a"])
    #expect(answer.droppedLetters == 2)
    #expect(answer.hasMore)
    #expect(!answer.isStuck)
  }

  @Test func `an oversized job without an id gets one from its nonce`() {
    let job = OversizedJob(size: 70_000, beginning: Array("MARTLET1 0 0 n 0\nxxxx".utf8), queue: "q")
    #expect(job.id == JobID.derived(nonce: "n"))
    #expect(OversizedJob(size: 70_000, beginning: Array("xxxx".utf8), queue: "q").id == nil)
  }

  @Test(arguments: [RedisValue.null, .array([]), .integer(0), .array([.integer(0), .integer(0), .null])])
  func `any other value is not an answer`(value: RedisValue) {
    #expect(ClaimAnswer(value, queue: "q") == nil)
  }
}
