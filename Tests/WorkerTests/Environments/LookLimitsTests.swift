import PushModel
import EventLoop
import Testing

@testable import Worker

struct LookLimitsTests {
  private static let minute: UInt64 = 60_000_000_000

  @Test func `an owner has sixty looks a minute, and others are not affected`() {
    var limits = LookLimits(now: 0)
    for _ in 0..<LookLimits.maximumPerOwnerAndMinute {
      #expect(limits.begin(for: .user("a"), now: 1) == .send)
      _ = limits.ended()
    }
    #expect(limits.begin(for: .user("a"), now: Self.minute - 1) == .refuse)
    #expect(limits.begin(for: .instance("a"), now: 1) == .send)
    #expect(limits.begin(for: .token("a"), now: 1) == .send)
    #expect(limits.begin(for: .user("a"), now: Self.minute) == .send)
  }

  @Test func `a look that is refused or finds no room does not count`() {
    var limits = LookLimits(now: 0)
    for number in 0..<LookLimits.maximumInFlight {
      #expect(limits.begin(for: .token("\(number)"), now: 0) == .send)
    }
    for number in 0..<LookLimits.maximumWaiting {
      #expect(limits.begin(for: .token("w\(number)"), now: 0) == .wait)
    }
    for _ in 0..<200 { #expect(limits.begin(for: .user("a"), now: 0) == .busy) }
    #expect(limits.ended() == true, "a look that waited is in flight")
    #expect(limits.begin(for: .user("a"), now: 0) == .wait)
    limits.clearWaiting()
    #expect(limits.ended() == false)
    #expect(limits.begin(for: .user("b"), now: 0) == .send)
  }

  @Test func `the table of owners is bounded`() {
    var limits = LookLimits(now: 0)
    for number in 0...LookLimits.maximumOwners {
      #expect(limits.begin(for: .token("\(number)"), now: 0) == .send)
      _ = limits.ended()
    }
    #expect(limits.begin(for: .token("0"), now: 0) == .send)
  }
}
