import Testing

@testable import Chaos

/// What the judge reads.
struct EvidenceTests {
  @Test func `a record is read with its counts and its list`() {
    let entries = #"[{"token":"d","ok":true,"status":200,"apnsId":"x"},{"token":"e","ok":false,"apnsId":"y"}]"#
    let text =
      #"{"id":"j","status":"partial","accepted":1,"failed":2,"stale":1,"uncertain":3,"results":\#(entries),"worker":"w","finishedAt":5}"#
    #expect(
      JobRecord(parsing: Array(text.utf8))
        == JobRecord(
          status: "partial", accepted: 1, failed: 2, stale: 1, uncertain: 3,
          results: [
            .init(token: "d", isAccepted: true, apnsID: "x"), .init(token: "e", isAccepted: false, apnsID: "y"),
          ], worker: "w", finishedAt: 5))
  }

  @Test func `a line of the journal is read`() {
    let line = #"{"arrival":5,"client":7,"apnsId":"i","token":"t","collapseId":"j","status":200,"lost":"answer"}"#
    #expect(
      LedgerPush(parsing: Array(line.utf8))
        == LedgerPush(arrival: 5, client: 7, apnsID: "i", token: "t", job: "j", loss: .answer))
    let unprocessed = #"{"arrival":5,"client":7,"apnsId":"i","token":"t","collapseId":"j","lost":"connection"}"#
    #expect(LedgerPush(parsing: Array(unprocessed.utf8))?.status == 0)
    #expect(LedgerPush(parsing: Array("{}".utf8)) == nil)
  }
}
