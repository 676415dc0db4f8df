import PushModel
import EventLoop
import JSON
import QueueSupport
import Redis
import Telemetry
import TestSupport
import Testing

@testable import Queue

/// Making room, on a real Redis.
@EventLoop
@Suite(.serialized)
struct RecordSweepTests: QueueScriptTests {
  let redis: QueueServer

  init() async throws { redis = try await Self.server() }

  private func write(_ status: String, _ range: Range<Int>, padding: Int = 1000) async throws {
    for number in range {
      let record =
        #"{"id":"\#(number)","status":"\#(status)","claimedAt":\#(number),"finishedAt":\#(1000 + number),"x":"\#(String(repeating: "x", count: padding))"}"#
      try await send("SET", QueueKeys.result("\(status)-\(number)"), record, "PX", "86400000")
    }
  }

  private func left(_ status: String) async throws -> Set<Int> {
    let keys = try await send("KEYS", QueueKeys.result("\(status)-*")).array ?? []
    return Set(keys.compactMap { $0.string?.split(separator: "-").last?.integer(in: 0...10_000) })
  }

  private func used() async throws -> Int64 {
    try #require(ServerMemory(try await connection.info(ofServer: 0, section: "memory"))?.used)
  }

  /// Sets maxmemory so that this share of it is used, and makes room. Returns the share that is used then.
  @discardableResult
  private func sweep(from share: Double) async throws -> Double {
    let maximum = Int64(Double(try await used()) / share)
    try await send("CONFIG", "SET", "maxmemory", "\(maximum)")
    let sweep = RecordSweep(connection: connection, log: .silent)
    sweep.start(servers: [0])
    await sweep.close()
    return Double(try await used()) / Double(maximum)
  }

  @Test func `the oldest records of accepted jobs go until there is room, and no others`() async throws {
    try await write("accepted", 0..<1200)
    try await write("failed", 0..<50)
    try await write("retrying", 0..<50)
    // A reading differs from the one before: buffers of connections count, too.
    #expect(try await sweep(from: 0.9) < 0.83)
    let left = try await left("accepted")
    #expect(left.count < 1200 && !left.isEmpty)
    // Samples are compared, not all of them, and the last ones are not looked at when there is room.
    let (old, new) = (left.filter { $0 < 300 }.count, left.filter { $0 >= 900 }.count)
    #expect(old < 200 && new > 250, "\(old) of the 300 oldest and \(new) of the 300 newest are left")
    #expect(try await self.left("failed").count == 50)
    #expect(try await self.left("retrying").count == 50)
  }

  @Test func `records of other jobs that have ended go when that is not enough`() async throws {
    try await write("accepted", 0..<50)
    try await write("noDevices", 0..<600)
    try await write("deferred", 0..<50)
    try await sweep(from: 0.97)
    #expect(try await left("accepted").isEmpty)
    #expect(try await left("noDevices").count < 600)
    #expect(try await left("deferred").count == 50)
  }

  @Test func `streams are cut, and keys of other kinds stay`() async throws {
    let stream = QueueKeys.notifications("alice")
    for _ in 0..<900 { try await send("XADD", stream, "*", "notification", String(repeating: "x", count: 1000)) }
    try await send("XADD", "somebody:notifications", "*", "a", "b")
    try await send("SET", QueueKeys.result("foreign"), "no record")
    try await send("LPUSH", QueueKeys.result("list"), "no record")
    try await sweep(from: 0.9)
    let length = try #require(try await send("XLEN", stream).count)
    #expect(length >= 100 && length <= 250)
    #expect(
      try await send("EXISTS", "somebody:notifications", QueueKeys.result("foreign"), QueueKeys.result("list")).count
        == 3)
  }

  @Test func `a record that was replaced meanwhile stays`() async throws {
    try await write("accepted", 7..<8)
    let key = Array(QueueKeys.result("accepted-7").utf8)
    #expect(try await connection.send(QueueScripts.endOfRecord(record: key, kind: "accepted")).string == "1007")
    #expect(try await connection.send(QueueScripts.removeRecord(record: key, finishedAt: 1006)).count == 0)
    try await send("SET", QueueKeys.result("accepted-7"), #"{"id":"7","status":"retrying","finishedAt":1007}"#)
    #expect(try await connection.send(QueueScripts.removeRecord(record: key, finishedAt: 1007)).count == 0)
    #expect(try await send("EXISTS", QueueKeys.result("accepted-7")).count == 1)
  }
}
