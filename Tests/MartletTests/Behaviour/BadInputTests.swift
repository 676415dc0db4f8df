import PushModel
import FleetSupport
import Foundation
import Jobs
import Redis
import Registry
import Testing
import TestSupport
@testable import Queue

/// Invalid jobs are buried byte for byte with a reason and do not affect others.
@Suite(.serialized) struct BadInputTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task { try await shared.value.worker() }
  private let fleet: Fleet
  private let worker: FleetWorker

  init() async throws {
    fleet = try await Self.shared.value
    worker = try await Self.sharedWorker.value
  }

  /// Invalid bytes and words of the expected reason.
  private static let table: [(bytes: [UInt8], reason: String)] = [
    (Array("".utf8), "not JSON"),
    (Array("hello".utf8), "not JSON"),
    (Array("{\"to\":".utf8), "not JSON"),
    (Array("[]".utf8), "expected"),
    (Array("null".utf8), "expected"),
    (Array(#"{"to":{"user":"a"},"titel":"x"}"#.utf8), "titel"),
    (Array(#"{"to":{"user":"a","phone":"1"},"title":"x"}"#.utf8), "phone"),
    (Array(#"{"to":{"user":7},"title":"x"}"#.utf8), "to.user"),
    (Array(#"{"to":"a","title":"x"}"#.utf8), "to"),
    (Array(#"{"title":"x"}"#.utf8), "to"),
    (Array(#"{"to":{},"title":"x"}"#.utf8), "to"),
    (Array(#"{"to":{"user":"a"},"title":["x"]}"#.utf8), "title"),
    (Array(#"{"to":{"user":"a"},"title":"x","badge":"one"}"#.utf8), "badge"),
    (Array(#"{"to":{"user":"a"},"title":"x","priority":7}"#.utf8), "priority"),
    (Array(#"{"to":{"token":"xyz"},"title":"x"}"#.utf8), "to.token"),
    (Array(#"{"id":"no spaces","to":{"user":"a"},"title":"x"}"#.utf8), "id"),
    (Array(#"{"to":{"user":"a"},"title":"a\u0000b"}"#.utf8), "NUL"),
    (Array("{\"to\":{\"user\":\"a\"},\"title\":\"a\u{0}b\"}".utf8), "not JSON"),
    ([0, 1, 2, 0xff, 0xfe, 10, 0], "not JSON"),
    (Array(#"{"to":{"user":"a"},"title":""#.utf8) + [0xff, 0xc0] + Array(#""}"#.utf8), "not JSON"),
    (
      Array(#"{"to":{"user":"a"},"title":""#.utf8) + Array(repeating: 120, count: 65_537 - 30) + Array(#""}"#.utf8),
      "65536"
    ),
    (
      Array(#"{"to":{"tokens":["#.utf8)
        + (0..<1_000_000).flatMap { _ in Array("1,".utf8) } + Array("1]}}".utf8), "65536"
    ),
    (
      Array(#"{"to":{"tokens":["#.utf8) + (0..<1001).flatMap { Array("\"\(String(format: "%032x", $0))\",".utf8) }
        + Array("\"00\"]},\"title\":\"x\"}".utf8), "to.tokens"
    ),
    (Array(String(repeating: "[", count: 60_000).utf8), "expected"),
  ]

  @Test(arguments: table.indices)
  func `an invalid job goes to the dead letters byte for byte`(row: Int) async throws {
    let (bytes, reason) = Self.table[row]
    let before = try await fleet.deadLetters(worker.queue).count
    try await fleet.enqueue([bytes], on: worker.queue)
    let letters = try await fleet.deadLetters(worker.queue, count: before + 1)
    let letter = try #require(letters.first { $0.envelope.job == bytes })
    #expect(letter.reason.contains(reason), "\(letter.reason)")
    #expect(letter.reason.utf8.count <= 1000)
    // The member ends with the bytes.
    let members = try await fleet.redis("ZRANGE", QueueKeys(queue: worker.queue).dead, "0", "-1").array ?? []
    #expect(members.compactMap(\.bytes).contains { $0.suffix(bytes.count).elementsEqual(bytes) })
    #expect(try await fleet.record(letter.id).status == "dead")
    #expect(try await fleet.unsettled(worker.queue) == 0)
  }

  @Test func `a payload that is too large is refused with its size`() async throws {
    let id = fleet.unique("large")
    let token = fleet.uniqueToken()
    let body = String(repeating: "x", count: 5000)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(token)"},"body":"\#(body)"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "dead")
    #expect(record.reason?.contains("4096") == true, "\(record.reason ?? "")")
    #expect(try await fleet.gateway.counts()[apnsID(jobID: id, token: token)] == nil)
  }

  @Test func `valid jobs between invalid ones are delivered`() async throws {
    var jobs: [[UInt8]] = []
    let ids = (0..<20).map { _ in fleet.unique("right") }
    for id in ids {
      jobs.append(Array("{\(id)".utf8))
      jobs.append(Array(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#.utf8))
    }
    try await fleet.enqueue(jobs, on: worker.queue)
    for id in ids { #expect(try await fleet.record(id).status == "accepted") }
    #expect(worker.process.isRunning)
  }

  @Test func `a user's set or a metadata key of another type does not stop other jobs`() async throws {
    let (user, token) = (fleet.unique("user"), fleet.uniqueToken())
    let owner = fleet.unique("owner")
    try await fleet.redis("LPUSH", RegistryKeys.token(entry: token), "a list")
    try await fleet.redis("SADD", RegistryKeys.userTokens(Username(owner)), token)
    try await fleet.redis("SET", RegistryKeys.userTokens(Username(user)), "a string")
    let (first, second) = (fleet.unique("odd"), fleet.unique("odd"))
    try await fleet.enqueue(#"{"id":"\#(first)","to":{"user":"\#(user)"},"title":"x"}"#, on: worker.queue)
    try await fleet.enqueue(#"{"id":"\#(second)","to":{"user":"\#(owner)"},"title":"x"}"#, on: worker.queue)
    #expect(try await fleet.record(second).status == "no_devices")
    _ = try await fleet.record(first, "names the fault") { $0.reason?.contains("WRONGTYPE") == true }
    try await fleet.redis("DEL", RegistryKeys.userTokens(Username(user)))
    #expect(try await fleet.record(first).status == "no_devices")
  }

  @Test func `a queue key that is not a list stops neither the worker nor other queues`() async throws {
    let (broken, good) = (fleet.unique("jobs"), fleet.unique("jobs"))
    try await fleet.redis("SET", broken, "a string")
    let worker = try await fleet.worker(["MARTLET_QUEUES": "\(broken),\(good)"])
    func deliver(on queue: String) async throws -> JobRecord {
      let id = fleet.unique("odd")
      try await fleet.enqueue(
        #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#, on: queue)
      return try await fleet.record(id)
    }
    for _ in 0..<3 { #expect(try await deliver(on: good).status == "accepted") }
    #expect(worker.process.isRunning)
    try await fleet.redis("DEL", broken)
    #expect(try await deliver(on: broken).status == "accepted")
    #expect(try await deliver(on: good).status == "accepted")
    #expect(try await worker.stop() == 0)
  }
}
