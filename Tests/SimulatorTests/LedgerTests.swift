import Testing

@testable import Simulator

struct LedgerTests {
  private func record(_ id: String, at arrival: UInt64, _ answer: Answer = .accepted, in ledger: inout Ledger) {
    var head = RequestHead(changing: ["apns-id": id])
    let pushID = head.pushID.id
    ledger.record(&head, id: pushID, payloadBytes: 5, arrival: arrival, answer: answer)
  }

  private let first = "00000000-0000-0000-0000-000000000001"
  private let second = "FFFFFFFF-0000-0000-0000-00000000000A"

  @Test func `totals, duplicates and refusals are counted`() throws {
    var ledger = Ledger(keepsIDs: true)
    record(first, at: 10, in: &ledger)
    record(second, at: 20, in: &ledger)
    record(first, at: 30, in: &ledger)
    record(first, at: 40, Answer(503, "ServiceUnavailable"), in: &ledger)
    #expect(ledger.received == 4)
    #expect(ledger.accepted == 3)
    #expect(ledger.duplicates == 1)
    #expect(ledger.ids.count == 2)
    #expect(ledger.byStatus == [503: 1])
    #expect(ledger.byReason == ["ServiceUnavailable": 1])
    #expect(ledger.firstArrival == 10)
    #expect(ledger.lastArrival == 40)
    let id = try #require(PushID(Array(first.utf8)[...]))
    #expect(ledger.ids[id] == PushTable.Entry(id: id, count: 2, arrival: 10))
  }

  @Test func `the last thousand pushes are kept, newest first`() {
    var ledger = Ledger(keepsIDs: true)
    for arrival in 1...1003 { record(first, at: UInt64(arrival), in: &ledger) }
    let recent = ledger.recent(5000)
    #expect(recent.count == Ledger.recentLimit)
    #expect(recent.map(\.arrival) == (4...1003).reversed().map(UInt64.init))
    #expect(ledger.recent(2).map(\.arrival) == [1003, 1002])
    #expect(ledger.recent(-1).isEmpty)
    #expect(recent[0].head.deviceToken?.elementsEqual(RequestHead.token.utf8) == true)
    #expect(recent[0].payloadBytes == 5)
  }

  @Test func `ten thousand ids are distinguished`() {
    var table = PushTable(limit: 20_000)
    for number in 0..<10_000 { #expect(table.add(PushID(high: 1, low: UInt64(number)), at: 1) == 1) }
    for number in 0..<10_000 { #expect(table.add(PushID(high: 1, low: UInt64(number)), at: 2) == 2) }
    #expect(table.count == 10_000)
    #expect(table.entries.allSatisfy { $0.count == 2 && $0.arrival == 1 })
    #expect(table[PushID(high: 2, low: 0)] == nil)
  }

  @Test func `a full table counts the overflow and keeps its ids`() {
    var table = PushTable(limit: 3000)
    for number in 0..<4000 { _ = table.add(PushID(high: 0, low: UInt64(number)), at: 1) }
    #expect(table.count == 3000)
    #expect(table.overflow == 1000)
    #expect(table.add(PushID(high: 0, low: 5), at: 1) == 2)
  }

  @Test func `an apns-id is read in either case and written in lower case`() throws {
    #expect(try #require(PushID(Array(second.utf8)[...])).text == second.lowercased())
    let random = PushID.random()
    #expect(PushID(Array(random.text.utf8)[...]) == random)
  }

  @Test func `without ids only totals are kept`() {
    var ledger = Ledger(keepsIDs: false)
    record(first, at: 1, in: &ledger)
    #expect(ledger.accepted == 1)
    #expect(ledger.ids.count == 0)
    #expect(ledger.recent(1).isEmpty)
  }
}
