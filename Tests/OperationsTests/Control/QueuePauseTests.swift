import Testing

@testable import Operations

struct QueuePauseTests {
  private func pause(_ text: String) -> QueuePause? { QueuePause(control: Array(text.utf8)) }

  @Test func `a paused queue says since when, by whom and why`() {
    let found = pause("12 P\n" + #"{"since":5,"by":"anna","reason":"a \"new\"\nkey"}"#)
    #expect(found == QueuePause(since: 5, by: "anna", reason: "a \"new\"\nkey"))
    #expect(pause("7 ZP\n{}") == QueuePause(since: 0, by: "", reason: ""))
  }

  @Test func `a queue that is not paused has no pause`() {
    for text in ["7 CBDS", "", "x P", "P"] { #expect(pause(text) == nil) }
  }

  @Test func `a long text of an operator is cut`() {
    let long = String(repeating: "ä", count: 500)
    #expect(QueuePause(since: 0, by: long, reason: long).reason.utf8.count <= 203)
  }
}
