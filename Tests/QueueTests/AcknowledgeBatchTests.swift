import EventLoop
import QueueSupport
import Redis
import Testing

@testable import Jobs
@testable import Queue

/// Acknowledgements of many jobs on a real Redis, whose in-flight list has what the ledger expects, or something else.
@EventLoop
@Suite(.serialized)
struct AcknowledgeBatchTests: QueueScriptTests {
  let redis: QueueServer
  private let ledger = ClaimLedger(queueCount: 1)

  init() async throws { redis = try await Self.server() }

  private struct Answer: Equatable {
    var missing = ""
    var keptRecords = ""
  }

  /// Claims the jobs of `names` in this order; those in capital letters may be at any place of the list.
  private func claim(_ names: String) -> [Claim] {
    names.map { name in
      let claim = Claim(
        queueIndex: 0, element: Array("\(name)".utf8), isInOrder: name.isLowercase, nonce: "\(name)", now: 0,
        monotonic: 0)
      ledger.add(claim)
      return claim
    }
  }

  private func acknowledge(
    _ names: String, of claims: [Claim], _ mode: DeliveryMode = .atLeastOnce,
    hasRecord: (Character) -> Bool = { _ in false }
  ) async throws -> Answer? {
    let entries = names.map { name in
      let json = Array(#"{"id":"\#(name)","claimedAt":2,"status":"accepted"}"#.utf8)
      let record = Settlement.Record(jobID: "\(name)", json: json, timeToLive: .seconds(60))
      let claim = claims.first { $0.element == Array("\(name)".utf8) }
      return PendingSettlement(claim!, Settlement(.acknowledge, record: hasRecord(name) ? record : nil))
    }
    let batch = AcknowledgeBatch(entries[...], ledger, mode, queueIndex: 0)
    let call = batch.call(inflight: keys.inflight("w"), mode)
    guard let answer = AcknowledgeAnswer(try await connection.send(call)) else { return nil }
    let names = batch.entries.map { String(decoding: $0.claim.element, as: UTF8.self) }
    for entry in batch.entries { ledger.remove(entry.claim) }
    return Answer(
      missing: answer.missing.map { names[$0] }.sorted().joined(),
      keptRecords: answer.keptRecords.map { names[$0] }.sorted().joined())
  }

  private func push(_ names: String) async throws {
    for name in names { try await send("LPUSH", keys.inflight("w"), "\(name)") }
  }

  /// The jobs in the list, oldest first.
  private func left() async throws -> String {
    let list = try await send("LRANGE", keys.inflight("w"), "0", "-1").array ?? []
    return list.compactMap(\.string).reversed().joined()
  }

  @Test(arguments: ["abcde", "Abcde", "abCde"], ["abc", "cab", "bd", "abcde", "edcba", "ce", "a"])
  func `jobs leave together or alone, each with its record`(_ all: String, ended: String) async throws {
    let names = String(ended.map { name in all.first { $0.lowercased() == "\(name)" } ?? name })
    try await push(all)
    let claims = claim(all)
    #expect(try await acknowledge(names, of: claims) { $0 != "b" } == Answer())
    #expect(try await left() == all.filter { !names.contains($0) })
    for name in all {
      let isRecorded = names.contains(name) && name != "b"
      #expect(try await send("EXISTS", "push:result:\(name)").integer == (isRecorded ? 1 : 0), "\(name)")
      if isRecorded { #expect(try await send("PTTL", "push:result:\(name)").integer ?? 0 > 50_000) }
    }
    // The rest is the oldest now.
    let rest = all.filter { !names.contains($0) }
    #expect(try await acknowledge(rest, of: claims) == Answer())
    #expect(try await left().isEmpty)
    #expect(ledger.count == 0)
  }

  /// What the list has instead of "abcd", of which "abc" is acknowledged.
  struct Other: Sendable {
    let list: String
    var missing = ""
    let left: String
  }

  @Test(arguments: [
    Other(list: "axbcd", left: "xd"), Other(list: "xabcd", left: "xd"), Other(list: "axcd", missing: "b", left: "xd"),
    Other(list: "bcd", missing: "a", left: "d"), Other(list: "abd", missing: "c", left: "d"),
    Other(list: "ab", missing: "c", left: ""), Other(list: "dcba", left: "d"),
    Other(list: "", missing: "abc", left: ""),
  ])
  func `jobs that are not where the ledger expects them are searched`(_ other: Other) async throws {
    try await push(other.list)
    let claims = claim("abcd")
    // One that the list lacks between others was settled, and the answer did not arrive.
    if other.missing == "b" { claims[1].isSent = true }
    #expect(try await acknowledge("abc", of: claims) { _ in true } == nil)
    #expect(try await left() == other.list)
    #expect(try await send("KEYS", "push:result:*").array?.isEmpty == true)
    let answer = try await acknowledge("abc", of: claims) { _ in true }
    #expect(answer == Answer(missing: other.missing))
    #expect(try await left() == other.left)
    for name in "abc" {
      let isRecorded = !other.missing.contains(name)
      #expect(try await send("EXISTS", "push:result:\(name)").integer == (isRecorded ? 1 : 0), "\(name)")
    }
  }

  @Test func `the record of another job stays, and its job ends`() async throws {
    let other = #"{"id":"b","claimedAt":1,"finishedAt":5,"status":"accepted","worker":"v"}"#
    try await send("SET", "push:result:b", other)
    try await send("SET", "push:result:d", other)
    try await push("abcd")
    let claims = claim("abcd")
    #expect(try await acknowledge("dba", of: claims) { $0 != "a" } == Answer(keptRecords: "bd"))
    #expect(try await left() == "c")
    #expect(try await send("GET", "push:result:b").string == other)
  }

  @Test func `at most once all jobs end, as there is no list`() async throws {
    let claims = claim("abc")
    #expect(try await acknowledge("cb", of: claims, .atMostOnce) { $0 == "b" } == Answer())
    #expect(try await send("EXISTS", "push:result:b", "push:result:c").integer == 1)
  }

  @Test func `a full Redis takes the records of the oldest jobs`() async throws {
    try await push("ab")
    let claims = claim("ab")
    try await fill()
    #expect(try await acknowledge("ab", of: claims) { _ in true } == Answer())
    try await send("CONFIG", "SET", "maxmemory", "0")
    #expect(try await send("EXISTS", "push:result:a", "push:result:b").integer == 2)
    #expect(try await left().isEmpty)
  }
}
