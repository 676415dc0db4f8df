import Testing

@testable import APNs

struct RemovalGuardTests {
  private func guarded(_ answers: [Bool]) -> RemovalGuard {
    var removalGuard = RemovalGuard()
    for isSuspect in answers { removalGuard.record(isSuspect: isSuspect) }
    return removalGuard
  }

  @Test func `fewer than 50 answers never trip it`() {
    #expect(!guarded(Array(repeating: true, count: 49)).isTripped)
    #expect(guarded(Array(repeating: true, count: 50)).isTripped)
  }

  @Test func `half is not enough and one more is`() {
    let half = Array(repeating: true, count: 25) + Array(repeating: false, count: 25)
    #expect(!guarded(half).isTripped)
    #expect(guarded(half + [true]).isTripped)
  }

  @Test func `only the last answers count`() {
    let recovered = Array(repeating: true, count: 500) + Array(repeating: false, count: RemovalGuard.windowAnswers / 2)
    #expect(!guarded(recovered).isTripped)
    #expect(guarded(recovered).suspects == RemovalGuard.windowAnswers / 2)
  }
}
