import DashboardSupport
import EventLoop
import JSON
import Redis
import Testing

@testable import Dashboard
@testable import Operations
@testable import Queue

/// What an operator reads when Redis fails in the middle of an action.
@EventLoop
struct LetterActionsTests {
  private func message(_ done: Int, _ gone: Int, of total: Int, by error: RedisError) -> String {
    let text = LetterActions.progress(.requeue, DeadLetterSweep(done: done, gone: gone), of: total, by: error)
    return LetterActions.interrupted(text, by: error).message
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
  }

  @Test func `the audit log names the letters that an action was about, and counts those that do not fit`() {
    let digest = String(repeating: "0a", count: 20)
    func letters(_ ids: [String]) -> [SelectedLetter] {
      ids.compactMap { SelectedLetter("1700000000000,2,\(digest),\($0),push:jobs") }
    }
    #expect(SelectedLetter.description([]) == "no dead letter")
    #expect(SelectedLetter.description(letters(["a"])) == "dead letter a")
    let uuids = (0..<25).map { String(repeating: "0", count: 34) + String($0 + 10) }
    #expect(SelectedLetter.description(letters(uuids)) == "dead letters " + uuids.joined(separator: ", "))
    #expect(
      SelectedLetter.description(letters(["a", ""]))
        == "dead letters a, (no id, given up 2023-11-14 22:13:20 UTC)")
    let long = SelectedLetter.description(letters(Array(repeating: String(repeating: "x", count: 128), count: 100)))
    #expect(long.hasSuffix("x and 89 more"))
    #expect(long.prefix(bytes: AuditLog.maximumText) == long)
  }
}
