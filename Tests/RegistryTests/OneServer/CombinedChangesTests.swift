import EventLoop
import Redis
import RegistrySupport
import TestSupport
import Testing

@testable import Registry

/// Changes of one turn of the loop share one call.
@EventLoop
struct CombinedChangesTests {
  private typealias Replies = [Result<Transaction.Reply, RedisError>]

  /// Sends each transaction for itself, all in one turn.
  private func send(_ transactions: [Transaction], _ fixture: Fixture) async -> [Replies] {
    let sender = TransactionSender(fixture.redis, events: nil)
    return await EventLoop.gather(transactions) { transaction, end in sender.send([transaction]) { end($0) } }
  }

  private func change(_ key: String, from expected: String = "", to record: String) -> Transaction {
    Transaction([Transaction.Change(key: key, expected: Array(expected.utf8), record: Array(record.utf8))])
  }

  @Test func `each of the changes that share a call gets its own reply`() async throws {
    let server = try await RedisServer()
    let fixture = try await Fixture(server: server)
    _ = try await fixture.run("SET", "other", "found")
    _ = try await fixture.run("CONFIG", "RESETSTAT")
    let changes = [change("new", to: "1"), change("other", to: "2"), change("new", from: "1", to: "3")]
    let replies = await send(changes, fixture)
    try #require(replies.map(\.count) == [1, 1, 1])
    guard case .success(.done) = replies[0][0], case .success(.otherRecord(0, let found)) = replies[1][0],
      case .success(.done) = replies[2][0]
    else {
      Issue.record("\(replies)")
      return
    }
    #expect(String(decoding: found, as: UTF8.self) == "found")
    #expect(try await fixture.run("GET", "new").string == "3")
    let stats = try #require(try await fixture.run("INFO", "commandstats").string)
    #expect(stats.contains("cmdstat_evalsha:calls=1,"))
    try await server.stop()
  }

  @Test func `a full redis that refuses a new record removes another one in the same turn`() async throws {
    let server = try await RedisServer(["--maxmemory-policy", "noeviction"])
    let fixture = try await Fixture(server: server)
    _ = try await fixture.run("SET", "old", "record")
    _ = try await fixture.run("CONFIG", "SET", "maxmemory", "1")
    let replies = await send([change("new", to: "record"), change("old", from: "record", to: "")], fixture)
    try #require(replies.map(\.count) == [1, 1])
    guard case .failure(.reply(let error)) = replies[0][0], case .success(.done) = replies[1][0] else {
      Issue.record("\(replies)")
      return
    }
    #expect(error.message.contains("OOM"))
    #expect(try await fixture.run("EXISTS", "old", "new").integer == 0)
    try await server.stop()
  }
}
