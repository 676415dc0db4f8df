import Testing

@testable import Queue

struct SettlementOmissionTests {
  /// The attempts at a settlement that Redis refuses each time.
  private func attempts(hasEvents: Bool, hasReply: Bool) -> [SettlementOmission] {
    var attempts: [SettlementOmission] = [.nothing]
    while let next = attempts.last?.next(hasEvents: hasEvents, hasReply: hasReply) { attempts.append(next) }
    return attempts
  }

  @Test func `events are left out before the reply, and both only at last`() {
    #expect(attempts(hasEvents: true, hasReply: true) == [.nothing, .events, .reply, .replyAndEvents])
  }

  @Test func `what a settlement does not have is not left out`() {
    #expect(attempts(hasEvents: true, hasReply: false) == [.nothing, .events])
    #expect(attempts(hasEvents: false, hasReply: true) == [.nothing, .reply])
    #expect(attempts(hasEvents: false, hasReply: false) == [.nothing])
  }
}
