import Testing

@testable import Queue

struct ControlStateTests {
  private func state(_ text: String) -> ControlState? { ControlState(bytes: Array(text.utf8)) }

  @Test func `a paused queue says since when, by whom and why`() throws {
    let pause = QueuePause(since: 5, by: "anna", reason: "a \"new\"\nkey")
    let found = try #require(state("12 P\n" + #"{"since":5,"by":"anna","reason":"a \"new\"\nkey"}"#))
    #expect(found.version == 12)
    #expect(found.isPaused)
    #expect(found.pause == pause)
  }

  @Test func `each letter stands for something that a worker observes`() throws {
    let found = try #require(state("7 CBDS"))
    #expect(found.flags == [.cancellations, .pausedBroadcasts, .drainedWorkers, .scheduledIDs])
    #expect(!found.isPaused)
    #expect(found.pause == nil)
  }

  @Test func `a letter of a later version is passed over`() {
    #expect(state("7 ZP\n{}")?.flags == [.paused])
    #expect(state("7 ZP\n{}")?.pause == QueuePause(since: 0, by: "", reason: ""))
  }

  @Test(arguments: ["", "P", "x P", " P", "7", "{}"]) func `anything else is no state`(text: String) {
    #expect(state(text) == nil)
  }

  @Test func `a long text of an operator is cut`() {
    let long = String(repeating: "ä", count: 500)
    #expect(QueuePause(since: 0, by: long, reason: long).reason.utf8.count <= 203)
  }
}
