import Testing

@testable import APNs

struct KeyChoiceTests {
  private static let changeInterval: UInt64 = 60
  private static let retryInterval: UInt64 = 3600

  /// A choice that expectations may change.
  private final class Subject {
    private var choice: KeyChoice

    init(_ count: Int = 2) {
      choice = KeyChoice(
        count: count, changeInterval: KeyChoiceTests.changeInterval, retryInterval: KeyChoiceTests.retryInterval)
    }

    var current: Int { choice.current }
    var keys: [KeyChoice.Key] { choice.keys }

    func refused(_ key: Int, submittedAt: UInt64, now: UInt64) -> KeyChoice.Refusal {
      choice.refused(key, submittedAt: submittedAt, now: now)
    }

    func proven(_ key: Int, now: UInt64) -> Bool { choice.proven(key, now: now) }

    func retryIfDue(now: UInt64) -> Bool { choice.retryIfDue(now: now) }
  }

  @Test func `the first key signs until it is refused`() {
    let choice = Subject()
    #expect(choice.current == 0)
    #expect(choice.refused(0, submittedAt: 10, now: 11) == .changed)
    #expect(choice.current == 1)
    #expect(choice.refused(0, submittedAt: 10, now: 12) == .outdated, "pushes that were in flight with it")
    #expect(choice.current == 1)
  }

  @Test func `a single key has no other one`() {
    let choice = Subject(1)
    #expect(choice.refused(0, submittedAt: 10, now: 11) == .none)
    #expect(choice.refused(0, submittedAt: 10, now: 1_000_000) == .none)
    #expect(choice.current == 0)
    #expect(!choice.retryIfDue(now: .max))
  }

  @Test func `a key that has accepted a later push is not refused`() {
    let choice = Subject()
    #expect(!choice.proven(0, now: 20))
    #expect(choice.refused(0, submittedAt: 15, now: 21) == .none)
    #expect(choice.refused(0, submittedAt: 22, now: 23) == .changed)
  }

  @Test func `while both keys are refused they take turns, not more often than once per interval`() {
    let choice = Subject()
    #expect(choice.refused(0, submittedAt: 10, now: 11) == .changed)
    #expect(choice.refused(1, submittedAt: 12, now: 13) == .none)
    #expect(choice.refused(1, submittedAt: 14, now: 70) == .none)
    #expect(choice.refused(1, submittedAt: 14, now: 71) == .changed)
    #expect(choice.current == 0)
    #expect(choice.refused(0, submittedAt: 72, now: 73) == .none)
  }

  @Test func `a key that is accepted again is no longer refused`() {
    let choice = Subject()
    #expect(choice.refused(0, submittedAt: 10, now: 11) == .changed)
    #expect(choice.refused(1, submittedAt: 12, now: 80) == .changed)
    #expect(choice.proven(0, now: 90))
    #expect(!choice.proven(0, now: 91))
    #expect(choice.keys.map(\.refusedAt) == [nil, 80])
  }

  @Test func `the first key is tried again after a while`() {
    let choice = Subject()
    #expect(choice.refused(0, submittedAt: 10, now: 11) == .changed)
    #expect(!choice.retryIfDue(now: 11 + Self.retryInterval - 1))
    #expect(choice.retryIfDue(now: 11 + Self.retryInterval))
    #expect(choice.current == 0)
    #expect(!choice.retryIfDue(now: 12 + Self.retryInterval))
    #expect(choice.refused(0, submittedAt: 4000, now: 4001) == .changed, "the second key was never refused")
    #expect(!choice.retryIfDue(now: 4002))
  }
}
