import EventLoop
import Testing

@testable import Jobs
@testable import Queue

@EventLoop
struct ClaimLedgerTests {
  private func claim(_ text: String, queueIndex: Int = 0) -> Claim {
    Claim(queueIndex: queueIndex, element: Array(text.utf8), nonce: "n", now: 0, monotonic: 0)
  }

  @Test func `claims are counted per queue until they are removed`() {
    let ledger = ClaimLedger(queueCount: 2)
    let first = claim("a")
    let second = claim("b", queueIndex: 1)
    ledger.add(first)
    ledger.add(second)
    ledger.remove(first)
    ledger.remove(first)
    #expect(ledger.outstanding(queueIndex: 0).count == 0)
    #expect(ledger.outstanding(queueIndex: 1).count == 1)
  }

  @Test func `claims that are left keep their order when others are removed`() {
    let ledger = ClaimLedger(queueCount: 1)
    let claims = ["a", "b", "c", "d"].map { claim($0) }
    for claim in claims { ledger.add(claim) }
    ledger.remove(claims[0])
    ledger.remove(claims[2])
    ledger.remove(claims[2])
    #expect(ledger.outstanding(queueIndex: 0).map(\.serial) == [2, 4])
    ledger.remove(claims[3])
    #expect(ledger.outstanding(queueIndex: 0).map(\.serial) == [2])
    #expect(ledger.fenceAll() == 1)
    ledger.remove(claims[1])
    #expect(ledger.outstanding(queueIndex: 0).count == 0)
  }

  @Test func `a claim is found again after many others have come and gone`() {
    let ledger = ClaimLedger(queueCount: 1)
    let old = claim("old")
    ledger.add(old)
    for number in 0..<1000 {
      let other = claim("\(number)")
      ledger.add(other)
      ledger.remove(other)
    }
    let new = claim("new")
    ledger.add(new)
    #expect(ledger.outstanding(queueIndex: 0).map(\.serial) == [1, 1002])
    ledger.remove(old)
    #expect(ledger.outstanding(queueIndex: 0).map(\.serial) == [1002])
    #expect(ledger.count == 1)
  }

  @Test func `fencing marks and removes every claim`() {
    let ledger = ClaimLedger(queueCount: 1)
    let first = claim("a")
    ledger.add(first)
    #expect(ledger.fenceAll() == 1)
    #expect(first.isFenced)
    #expect(ledger.count == 0)
  }
}
