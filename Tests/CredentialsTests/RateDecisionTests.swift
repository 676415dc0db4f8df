import Testing

@testable import Registry
@testable import Credentials

struct RateDecisionTests {
  private func decision(_ decision: Int64, _ detail: Int64, perSecond: Int = 100) -> RateDecision {
    RateDecision(decision: decision, detail: detail, KeyQuota(perSecond: perSecond, burst: 200, perDay: 10_000))
  }

  @Test func `a key has the document's rate, burst and day unless it is given others`() {
    #expect(KeyQuota.standard == KeyQuota(perSecond: 100, burst: 200, perDay: 10_000))
    let credential = Credential(kind: .key, name: "app", digest: "", createdAt: 1)
    #expect(credential.quota == .standard)
  }

  @Test func `who is admitted is not told to wait`() {
    #expect(decision(1, 0) == .admitted)
  }

  @Test(
    arguments: [
      // Millionths of a request that are missing, requests a second, whole seconds until there is one.
      (1, 100, 1), (1_000_000, 100, 1), (1_000_000, 1, 1), (1_000_001, 1, 2), (3_000_000, 1, 3), (0, 100, 1),
      (1_000_000, 0, 86_400), (1_000_000, -1, 86_400), (1_000_000, .max, 1), (.max, 1, 86_400),
    ] as [(Int64, Int, Int)])
  func `a wait is whole seconds, at least one and at most a day`(missing: Int64, perSecond: Int, seconds: Int) {
    #expect(decision(0, missing, perSecond: perSecond) == .tooFast(retryAfter: seconds))
  }

  @Test(arguments: [(0, 86_400), (1, 86_399), (86_399, 1), (86_400, 1), (90_000, 1), (-5, 86_400)] as [(Int64, Int)])
  func `the day's requests come back at midnight`(passed: Int64, seconds: Int) {
    #expect(decision(-1, passed) == .dayUsedUp(retryAfter: seconds))
  }

  @Test func `an answer that makes no sense admits nobody`() {
    #expect(decision(7, 0) == .tooFast(retryAfter: 1))
  }
}
