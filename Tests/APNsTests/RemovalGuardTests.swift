import Testing

@testable import APNs

struct RemovalGuardTests {
  /// An answer of each owner in turn.
  private func guarded(_ answers: [(owner: Int, isSuspect: Bool)]) -> RemovalGuard {
    var removalGuard = RemovalGuard()
    for answer in answers { _ = removalGuard.record(owner: answer.owner, isSuspect: answer.isSuspect) }
    return removalGuard
  }

  private func suspects(_ owners: Range<Int>) -> [(owner: Int, isSuspect: Bool)] { owners.map { ($0, true) } }
  private func goods(_ owners: Range<Int>) -> [(owner: Int, isSuspect: Bool)] { owners.map { ($0, false) } }

  @Test func `fewer than 20 owners never trip it, however many answers`() {
    let answers = (0..<5).flatMap { _ in suspects(0..<19) }
    #expect(!guarded(answers).isTripped)
    #expect(guarded(answers + suspects(19..<20)).isTripped)
  }

  @Test func `one owner counts once, whether its tokens are refused or accepted`() {
    #expect(!guarded((0..<10_000).map { _ in (7, true) }).isTripped)
    let flooded = suspects(0..<19) + (0..<1000).map { _ in (7, true) }
    #expect(!guarded(flooded).isTripped)
    let covered = suspects(0..<20) + (0..<1000).map { _ in (100, false) }
    #expect(guarded(covered).isTripped, "nor can one keep it from tripping")
  }

  @Test func `half of the owners is not enough and one more is`() {
    let half = goods(0..<25) + suspects(25..<50)
    #expect(!guarded(half).isTripped)
    #expect(guarded(half + suspects(50..<51)).isTripped)
  }

  @Test func `only the last owners count`() {
    let recovered = suspects(0..<500) + goods(500..<(500 + RemovalGuard.windowOwners))
    #expect(!guarded(recovered).isTripped)
    #expect(guarded(recovered).suspects == 0)
    #expect(guarded(recovered).ownerCount == RemovalGuard.windowOwners)
  }

  @Test func `it is all good with as many owners as it remembers and none suspect`() {
    #expect(!guarded(goods(0..<(RemovalGuard.windowOwners - 1))).isAllGood)
    #expect(guarded(goods(0..<RemovalGuard.windowOwners)).isAllGood)
    #expect(!guarded(suspects(0..<1) + goods(1..<RemovalGuard.windowOwners)).isAllGood)
  }

  @Test func `it lets go when only a quarter is suspect, and tells of each change once`() {
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
