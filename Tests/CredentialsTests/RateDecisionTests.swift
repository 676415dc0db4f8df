import Testing

@testable import Registry
@testable import Credentials

struct RateDecisionTests {
  private func decision(_ decision: Int64, _ detail: Int64, perSecond: Int = 100) -> RateDecision {
    RateDecision(decision: decision, detail: detail, KeyQuota(perSecond: perSecond, burst: 200, perDay: 10_000))
  }

  @Test func `the default quota is that of the document`() {
    #expect(KeyQuota.standard == KeyQuota(perSecond: 100, burst: 200, perDay: 10_000))
    let credential = Credential(kind: .key, name: "app", digest: "", createdAt: 1)
    #expect(credential.quota == .standard)
  }

  @Test func `an admitted request has no wait`() {
    #expect(decision(1, 0) == .admitted)
  }

  @Test(
    arguments: [
      // Missing millionths of a request, requests a second, whole seconds to wait.
      (1, 100, 1), (1_000_000, 100, 1), (1_000_000, 1, 1), (1_000_001, 1, 2), (3_000_000, 1, 3), (0, 100, 1),
      (1_000_000, 0, 86_400), (1_000_000, -1, 86_400), (1_000_000, .max, 1), (.max, 1, 86_400),
    ] as [(Int64, Int, Int)])
  func `a wait is whole seconds, at least one and at most a day`(missing: Int64, perSecond: Int, seconds: Int) {
    #expect(decision(0, missing, perSecond: perSecond) == .tooFast(retryAfter: seconds))
  }

  @Test(arguments: [(0, 86_400), (1, 86_399), (86_399, 1), (86_400, 1), (90_000, 1), (-5, 86_400)] as [(Int64, Int)])
  func `the quota of the day is renewed at midnight`(passed: Int64, seconds: Int) {
    #expect(decision(-1, passed) == .dayUsedUp(retryAfter: seconds))
  }

  @Test func `an invalid reply admits no request`() {
    #expect(decision(7, 0) == .tooFast(retryAfter: 1))
  }
}
