import Testing

@testable import Queue

struct ControlStateTests {
  private func state(_ text: String) -> ControlState? { ControlState(bytes: Array(text.utf8)) }

  @Test func `a paused queue is paused`() throws {
    let found = try #require(state("12 P\n" + #"{"since":5,"by":"anna","reason":"a"}"#))
    #expect(found.version == 12)
    #expect(found.isPaused)
  }

  @Test func `each letter stands for something that a worker observes`() throws {
    let found = try #require(state("7 CBDS"))
    #expect(found.flags == [.cancellations, .pausedBroadcasts, .drainedWorkers, .scheduledIDs])
    #expect(!found.isPaused)
  }

  @Test func `a letter of a later version is passed over`() {
    #expect(state("7 ZP\n{}")?.flags == [.paused])
  }

  @Test(arguments: ["", "P", "x P", " P", "7", "{}"]) func `anything else is no state`(text: String) {
    #expect(state(text) == nil)
  }
}
