import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport

@testable import Queue

/// The passwords of managed services live for minutes: processes read REDIS_URL_FILE for each connection.
@Suite(.serialized) struct RotatedPasswordTests {
  /// Runs redis-cli on a server.
  private typealias Server = @Sendable ([String]) async throws -> String

  private static let user = "rotating"

  /// Lets the user in with this password alone, and closes its connections.
  private func rotate(_ password: String, on servers: [Server]) async throws {
    for server in servers {
      let rules = ["reset", "on", ">\(password)", "~*", "&*", "+@all"]
      _ = try await server(["ACL", "SETUSER", Self.user] + rules)
      _ = try await server(["CLIENT", "KILL", "USER", Self.user])
    }
  }

  private func write(_ url: String, _ password: String, to file: String) throws {
    let address = url.replacing(/:\/\/([^@\/]*@)?/, with: "://\(Self.user):\(password)@", maxReplacements: 1)
    try Data((address + "\n").utf8).write(to: URL(filePath: file), options: .atomic)
  }

  private func outlives(_ fleet: Fleet, _ url: String, _ servers: [Server]) async throws {
    let directory = try TemporaryDirectory()
    let (file, queue) = (directory.path + "/url", fleet.unique("rotated"))
    try await rotate("first", on: servers)
    try write(url, "first", to: file)
    let worker = try await fleet.worker(["REDIS_URL": "", "REDIS_URL_FILE": file], on: queue)
    func delivers() async throws {
      let id = fleet.unique("job")
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"a"}"#, on: queue)
      #expect(try await fleet.record(id).status == "accepted")
    }
    try await delivers()
    // Redis has the new password before the file has it.
    for password in ["second", "third"] {
      try await rotate(password, on: servers)
      try await eventually("the reason is told") {
        try await worker.get("/readyz").body.contains(#""redisReason":""#) && worker.count(of: "WRONGPASS") >= 1
      }
      try write(url, password, to: file)
      try await delivers()
    }
    // The file has it first. What cannot be read changes nothing.
    try write(url, "fourth", to: file)
    try await rotate("fourth", on: servers)
    try await delivers()
    try Data("nonsense".utf8).write(to: URL(filePath: file))
    for server in servers { _ = try await server(["CLIENT", "KILL", "USER", Self.user]) }
    try await delivers()
    #expect(try await worker.stop() == 0)
  }

  @Test func `a worker outlives the rotation of its password`() async throws {
    let fleet = try await Fleet()
    try await outlives(fleet, fleet.redis.url, [{ try await fleet.redis.redisCLI($0) }])
  }

  @Test func `a worker of a cluster outlives the rotation of its password`() async throws {
    let cluster = try await RedisCluster(replicas: 0)
    let fleet = try await Fleet(cluster: cluster)
    try await outlives(fleet, cluster.url, cluster.nodes.map { node in { try await node.redisCLI($0) } })
  }
}
