import Testing

@testable import APNs

struct RemovalGuardTests {
  /// Records one answer per owner.
  private func guarded(_ answers: [(owner: Int, isSuspect: Bool)]) -> RemovalGuard {
    var removalGuard = RemovalGuard()
    for answer in answers { _ = removalGuard.record(owner: answer.owner, isSuspect: answer.isSuspect) }
    return removalGuard
  }

  private func suspects(_ owners: Range<Int>) -> [(owner: Int, isSuspect: Bool)] { owners.map { ($0, true) } }
  private func goods(_ owners: Range<Int>) -> [(owner: Int, isSuspect: Bool)] { owners.map { ($0, false) } }

  @Test func `fewer than 20 owners never trip the guard, however many answers`() {
    let answers = (0..<5).flatMap { _ in suspects(0..<19) }
    #expect(!guarded(answers).isTripped)
    #expect(guarded(answers + suspects(19..<20)).isTripped)
  }

  @Test func `one owner counts once, whether its tokens are refused or accepted`() {
    #expect(!guarded((0..<10_000).map { _ in (7, true) }).isTripped)
    let flooded = suspects(0..<19) + (0..<1000).map { _ in (7, true) }
    #expect(!guarded(flooded).isTripped)
    let covered = suspects(0..<20) + (0..<1000).map { _ in (100, false) }
    #expect(guarded(covered).isTripped, "one owner cannot prevent it either")
  }

  @Test func `more than half of the owners trip the guard`() {
    let half = goods(0..<25) + suspects(25..<50)
    #expect(!guarded(half).isTripped)
    #expect(guarded(half + suspects(50..<51)).isTripped)
  }

  @Test func `only the latest owners count`() {
    let recovered = suspects(0..<500) + goods(500..<(500 + RemovalGuard.windowOwners))
    #expect(!guarded(recovered).isTripped)
    #expect(guarded(recovered).suspects == 0)
    #expect(guarded(recovered).ownerCount == RemovalGuard.windowOwners)
  }

  @Test func `a full window without suspects is all good`() {
    #expect(!guarded(goods(0..<(RemovalGuard.windowOwners - 1))).isAllGood)
    #expect(guarded(goods(0..<RemovalGuard.windowOwners)).isAllGood)
    #expect(!guarded(suspects(0..<1) + goods(1..<RemovalGuard.windowOwners)).isAllGood)
  }

  @Test func `the guard resets when a quarter is suspect, and reports each change once`() {
    var removalGuard = guarded(suspects(0..<20))
    var changes = 0
    for owner in 20..<60 where removalGuard.record(owner: owner, isSuspect: false) { changes += 1 }
    #expect(removalGuard.isTripped)
    #expect(changes == 0)
    for owner in 0..<20 where removalGuard.record(owner: owner, isSuspect: false) { changes += 1 }
    #expect(!removalGuard.isTripped)
    #expect(changes == 1)
  }
}
