import EventLoop
import Redis
import Testing

@testable import Jobs
@testable import Queue

@EventLoop
struct SettlementBacklogTests {
  private func pending(_ settlement: Settlement = Settlement(.acknowledge), queueIndex: Int = 0) -> PendingSettlement {
    let claim = Claim(queueIndex: queueIndex, element: [], nonce: "n", now: 0, monotonic: 0)
    return PendingSettlement(claim, settlement)
  }

  private func record(author: String? = nil) -> Settlement.Record {
    Settlement.Record(jobID: "a", json: [], timeToLive: .seconds(1), author: author)
  }

  private func ids(_ entries: [PendingSettlement]) -> [ObjectIdentifier] { entries.map(ObjectIdentifier.init) }

  @Test func `settlements are grouped by the script that writes them, in their order`() {
    let plain = [pending(), pending(Settlement(.acknowledge, record: record()))]
    let others = [
      pending(Settlement(.handBack)), pending(Settlement(.acknowledge, record: record(author: "w 1"))),
      pending(Settlement(.acknowledge, replyTo: "list")),
      pending(Settlement(.retry(delay: .seconds(1)), as: [1], record: record())),
    ]
    var backlog = SettlementBacklog(queueCount: 1)
    for entry in [others[0], plain[0], others[1], others[2], plain[1], others[3]] { backlog.append(entry) }
    let batch = backlog.takeBatch(queueIndex: 0)
    #expect(ids(batch.acknowledgements) == ids(plain))
    #expect(ids(batch.others) == ids(others))
    #expect(backlog.isEmpty)
  }

  @Test func `one script writes records with one lifetime`() {
    func recorded(_ seconds: Int64) -> PendingSettlement {
      let record = Settlement.Record(jobID: "a", json: [], timeToLive: .seconds(seconds))
      return pending(Settlement(.acknowledge, record: record))
    }
    let entries = [pending(), recorded(5), recorded(60), pending()]
    var backlog = SettlementBacklog(queueCount: 1)
    for entry in entries { backlog.append(entry) }
    let batch = backlog.takeBatch(queueIndex: 0)
    #expect(ids(batch.acknowledgements) == ids([entries[0], entries[1], entries[3]]))
    #expect(ids(batch.others) == ids([entries[2]]))
  }

  @Test func `where records are in other hash slots, they are written before the job is settled`() {
    let entries = [
      pending(), pending(Settlement(.acknowledge, record: record())),
      pending(Settlement(.retry(delay: .seconds(1)), as: [1], record: record(author: "w 1"))),
      pending(Settlement(.acknowledge, replyTo: "list")), pending(Settlement(.handBack)),
    ]
    var backlog = SettlementBacklog(queueCount: 1, hasSeparateRecords: true)
    for entry in entries { backlog.append(entry) }
    let first = backlog.takeBatch(queueIndex: 0)
    #expect(ids(first.unrecorded) == ids([entries[1], entries[2], entries[3]]))
    #expect(ids(first.acknowledgements) == ids([entries[0]]))
    #expect(ids(first.others) == ids([entries[4]]))
    // Whether the records were written or not, the job is still in the in-flight list.
    backlog.keep(first.unrecorded, after: .outcomeUnknown("the server of the records was lost"))
    #expect(first.unrecorded.allSatisfy { !$0.mayBeWritten })
    for entry in backlog.takeBatch(queueIndex: 0).unrecorded {
      entry.countRecorded()
      backlog.append(entry)
    }
    let second = backlog.takeBatch(queueIndex: 0)
    #expect(second.unrecorded.isEmpty)
    #expect(ids(second.acknowledgements) == ids([entries[1], entries[3]]))
    #expect(second.others.map(\.settlement) == [Settlement(.retry(delay: .seconds(1)), as: [1])])
  }

  @Test func `each queue has its own settlements`() {
    var backlog = SettlementBacklog(queueCount: 2)
    backlog.append(pending(queueIndex: 1))
    #expect(backlog.takeBatch(queueIndex: 0).acknowledgements.isEmpty)
    #expect(!backlog.isEmpty)
    #expect(backlog.takeBatch(queueIndex: 1).acknowledgements.count == 1)
  }

  @Test(arguments: [RedisError?.none, .notSent("down"), .outcomeUnknown("down")])
  func `settlements that Redis did not confirm are written again`(error: RedisError?) {
    var backlog = SettlementBacklog(queueCount: 1)
    backlog.append(pending())
    let batch = backlog.takeBatch(queueIndex: 0)
    backlog.keep(batch.acknowledgements, after: error)
    #expect(ids(backlog.takeBatch(queueIndex: 0).acknowledgements) == ids(batch.acknowledgements))
  }

  @Test func `the settlement of a fenced claim is never written`() {
    var backlog = SettlementBacklog(queueCount: 1)
    let entries = [pending(), pending()]
    backlog.append(entries[0])
    entries[0].claim.isFenced = true
    #expect(backlog.takeBatch(queueIndex: 0).acknowledgements.isEmpty)
    entries[1].claim.isFenced = true
    backlog.keep(entries, after: .outcomeUnknown("down"))
    #expect(backlog.isEmpty)
  }

  @Test func `a job that is missing is lost`() {
    let entry = pending()
    #expect(entry.isLostWhenMissing)
    entry.claim.isFenced = true
    #expect(!entry.isLostWhenMissing)
  }

  @Test func `a job that is missing after an unknown outcome was settled by the first write`() {
    var backlog = SettlementBacklog(queueCount: 1)
    let entry = pending()
    backlog.keep([entry], after: .notSent("down"))
    #expect(entry.isLostWhenMissing)
    backlog.keep([entry], after: .outcomeUnknown("down"))
    #expect(!entry.isLostWhenMissing)
    backlog.keep([entry], after: .notSent("down"))
    #expect(!entry.isLostWhenMissing)
  }

  @Test func `an acknowledging script answers with missing jobs and records it did not write`() {
    let answer = AcknowledgeAnswer(.array([.integer(0), .integer(-3), .integer(4)]))
    #expect(answer?.missing == [0, 4])
    #expect(answer?.keptRecords == [2])
    #expect(AcknowledgeAnswer(.array([]))?.missing == [])
    #expect(AcknowledgeAnswer(.null) == nil)
  }

  @Test func `a settling script answers with what it did`() {
    #expect(SettleAnswer(.integer(-1)) == .wrongType)
    #expect(SettleAnswer(.integer(0)) == .missing)
    #expect(SettleAnswer(.integer(1)) == .settled(droppedLetters: 0, keptRecord: false))
    #expect(SettleAnswer(.array([.integer(3)])) == .settled(droppedLetters: 2, keptRecord: true))
  }
}
