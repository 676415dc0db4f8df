import Credentials
import Events
import FleetSupport
import Foundation
import Testing
import TestSupport

/// Numbers in Redis that no program of Martlet writes: every program goes on, and says so or ignores them.
@Suite(.serialized) struct HostileNumberTests {
  /// Every number of a text becomes this one.
  private func filled(_ text: String, _ number: String) -> String { text.replacing("N", with: number) }

  @Test func `reports of workers, broadcasts and grants break no page and no command`() async throws {
    let fleet = try await Fleet()
    let queue = fleet.unique("jobs")
    let environment = ["MARTLET_QUEUES": queue]
    let dashboard = try await fleet.dashboard(environment)
    let worker = try await fleet.worker(on: queue)
    try await fleet.register(fleet.uniqueToken(), to: "alice")
    _ = try await fleet.redis(
      "SET", "push:instance:home", #"{"token":"\#(fleet.uniqueToken())","updatedAt":1700000000000,"active":true}"#)
    for number in Fleet.hostileNumbers {
      try await write(number, fleet, queue)
      try await fleet.enqueue(#"{"id":"hint","to":{"instance":"home"},"class":"safety_critical"}"#, on: queue)
      for path in [
        "/", "/workers", "/apps", "/queues", "/queues/\(queue)", "/broadcasts", "/broadcasts/sale", "/policies",
        "/policies?instance=home", "/dead", "/jobs/hint", "/jobs/done", "/jobs/sale", "/devices?instance=home",
      ] {
        let status = try await dashboard.status(of: path)
        #expect(status == 200 || (status == 404 && path.hasPrefix("/jobs/")), "\(path): \(status) with \(number)")
      }
      for command in [
        ["status"], ["status", "--json"], ["broadcast", "list"], ["broadcast", "show", "sale"], ["explain", "done"],
        ["explain", "--instance", "home"], ["result", "done"], ["dead", "list"],
      ] {
        let child = try ChildProcess(
          try builtProduct("martlet"), command, environment: fleet.environment(["MARTLET_QUEUES": queue]))
        try await child.exit(within: .seconds(120))
        #expect(child.exitCode == 0, "\(command) with \(number): \(child.lines)")
      }
    }
    try await fleet.settled(queue)
    #expect(try await worker.stop() == 0)
    #expect(try await dashboard.stop() == 0)
  }

  /// Writes what the pages read, with this number in place of every number.
  private func write(_ number: String, _ fleet: Fleet, _ queue: String) async throws {
    let report = #"""
      {"startedAt":1,"jobs":N,"jobsPerSecond":N,"outstanding":N,"inFlight":N,"concurrency":N,"redisMicroseconds":N,
      "removedTokens":N,"pausedRoutes":[{"environment":"production","topic":"a","reason":"r","since":N}],
      "slowApps":[{"app":"a","inFlight":N,"concurrency":N,"waiting":N}],"routes":[{"environment":"production","topic":"a",
      "owners":N,"suspects":N}],"appStates":[{"app":"a","bundleIds":["a"],"team":"t","environment":"production","share":N,
      "inFlight":N,"removedTokens":N,"keys":[],"gateways":[{"environment":"production","url":"u","connections":N,
      "state":"connected"}]}]}
      """#
    let keys = "martlet:{\(queue)}:"
    for name in ["one", "two"] {
      _ = try await fleet.redis("SADD", keys + "workers", name)
      _ = try await fleet.redis("SET", keys + "heartbeat:\(name)", filled(report, number), "EX", "600")
    }
    let entry =
      #"{"id":"sale","app":"com.example.demo","state":"running","worker":"one","nonce":"n","startedAt":N,"changedAt":N}"#
    _ = try await fleet.redis("ZADD", keys + "broadcasts", "1", "sale")
    _ = try await fleet.redis("SET", keys + "broadcast:sale", filled(entry, number))
    _ = try await fleet.redis("SET", keys + "progress:n", "00:\n" + filled(#"{"accepted":N,"failed":N}"#, number))
    let grants = #"{"grants":[{"job":"j","class":"safety_critical","at":N}],"held":{"job":"h","until":N}}"#
    _ = try await fleet.redis("SET", "martlet:{policy}:nyra:home", filled(grants, number))
    let record =
      #"{"id":"done","status":"retrying","accepted":N,"failed":N,"attempts":N,"claimedAt":N,"finishedAt":N,"results":[],"#
      + #""history":[{"at":N,"event":"claimed","attempt":N,"waited":N},{"at":N,"event":"retry","due":N}]}"#
    _ = try await fleet.redis("SET", "push:result:done", filled(record, number))
    _ = try await fleet.redis(
      "ZADD", keys + "dead", "1", filled(#"{"id":"d","reason":"r","at":N,"attempts":N}"#, number) + "\n{}")
  }
}
