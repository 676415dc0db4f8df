import EventLoop
import Redis
import Testing

@testable import Dashboard
@testable import Queue

/// What an operator reads when Redis fails in the middle of an action.
@EventLoop
struct LetterActionsTests {
  private func message(_ done: Int, _ gone: Int, of total: Int, by error: RedisError) -> String {
    LetterActions.interrupted(.requeue, LetterActions.Count(done: done, gone: gone), of: total, by: error).message
  }

  @Test func `the message says what was done before Redis failed`() {
    #expect(
      message(2, 1, of: 9, by: .notSent("down"))
        == "Requeued 2 of 9 letters before Redis failed; the others were not touched.")
    #expect(
      message(2, 1, of: 9, by: .outcomeUnknown("timeout"))
        == "Requeued 2 of 9 letters before Redis failed; whether number 4 was is not known, and the others were not touched."
    )
  }

  @Test func `if the first one failed, nothing was done`() {
    #expect(message(0, 0, of: 9, by: .notSent("down")).contains("Nothing was done"))
  }

  @Test func `a box names its letter, its job and its queue, and nothing else is read as one`() {
    let digest = String(repeating: "0a", count: 20)
    let text = "1700,2,\(digest),job-1,push:jobs"
    let letter = SelectedLetter(text)
    #expect(letter?.text == text)
    #expect(letter?.queue == "push:jobs")
    #expect(SelectedLetter("1700,2,\(digest),,a,b")?.queue == "a,b")
    for forged in ["", ",,,,", "1700,2,\(digest),job-1", "x,2,\(digest),job-1,q", "1,2,zz,job,q"] {
      #expect(SelectedLetter(forged) == nil, "\(forged)")
    }
    #expect(SelectedLetter.description([]) == "dead letters ")
  }
}
