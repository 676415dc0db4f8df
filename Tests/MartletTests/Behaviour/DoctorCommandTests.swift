import FleetSupport
import Foundation
import Jobs
import Testing
import TestSupport

@testable import Worker
@testable import Queue

/// The findings of `martlet doctor` for a working fleet and a broken one.
@Suite(.serialized) struct DoctorCommandTests {
  private static let shared = Task { try await Fleet(redisArguments: ["--appendonly", "yes"]) }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.redis("FLUSHALL")
    // Each doctor is a process of its own, with keys of its own.
    try await fleet.gateway.settings(#"{"tokenUpdateSeconds":0}"#)
  }

  private struct Line: Decodable, Equatable {
    let check: String
    let status: String
    let text: String
    let fix: String?
  }

  private func doctor(_ changes: [String: String?] = [:]) async throws -> (code: Int32?, lines: [Line]) {
    let child = try await fleet.martlet("doctor", "--json", environment: changes)
    let lines = try child.lines(of: .output).map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    return (child.exitCode, lines)
  }

  @Test func `a working fleet has nothing to fix`() async throws {
    let (code, lines) = try await doctor()
    #expect(code == 0)
    #expect(lines.filter { $0.status == "fail" } == [])
    let sound = Set(lines.filter { $0.status == "ok" }.map(\.check))
    for check in [
      "settings", "redis", "redis version", "maxmemory-policy", "appendonly", "clock", "queue", "provider key", "apns",
    ] { #expect(sound.contains(check), "\(check)") }
    let text = try await fleet.martlet("doctor")
    #expect(text.lines(of: .output).count == lines.count)
  }

  @Test(arguments: [
    ("com.example.demo.voip", "set com.example.demo; Martlet adds the rest for each push type"),
    ("com.example.demo.push-type.liveactivity", "set com.example.demo; Martlet adds the rest for each push type"),
    ("TEAM.com.example.demo", "set com.example.demo, the bundle id alone"),
  ])
  func `a bundle id that is none of an app is a warning`(bundleID: String, fix: String) async throws {
    let team = try #require(fleet.gateway.environment["APNS_TEAM_ID"])
    let (_, lines) = try await doctor(["APNS_BUNDLE_ID": bundleID.replacingOccurrences(of: "TEAM", with: team)])
    #expect(lines.filter { $0.check == "bundle id" }.map(\.fix) == [fix])
  }

  @Test func `APNs is asked which key may send for the app`() async throws {
    let values = fleet.gateway.environment
    let app = try #require(values["APNS_BUNDLE_ID"])
    let question = "key of \(app), production"
    let (_, lines) = try await doctor()
    let sound = try #require(lines.first { $0.check == question })
    #expect(sound.status == "ok")
    #expect(sound.text == "\(fleet.gateway.ready.keyId) may send")
    // One gateway for both environments has one answer.
    #expect(!lines.contains { $0.check.hasSuffix(", sandbox") })
    let (code, refused) = try await doctor(["APNS_KEY_ID": "UNKNOWNKEY"])
    let fault = try #require(refused.first { $0.check == question })
    #expect(code == 1)
    #expect(fault.status == "fail" && fault.text == "UNKNOWNKEY may not send: InvalidProviderToken", "\(fault)")
    #expect(fault.fix?.contains("key id") == true)
  }

  @Test func `without a default app a note says which devices no job to an app reaches`() async throws {
    let (_, lines) = try await doctor(["APNS_BUNDLE_ID": "com.example.demo"])
    #expect(!lines.contains { $0.check == "default app" })
    let child = try ChildProcess(
      try builtProduct("martlet"), ["doctor"], environment: fleet.environment(isPollingOnly: true))
    #expect(try await child.exit() == 0)
    #expect(child.lines.contains { $0.hasPrefix("note") && $0.contains("default app") })
  }

  @Test func `all invalid settings are reported`() async throws {
    let (code, lines) = try await doctor([
      "REDIS_URL": "nonsense", "MARTLET_CONCURRENCY": "0", "MARTLET_HTTP_ADDRESS": "nowhere", "APNS_TEAM_ID": nil,
    ])
    #expect(code == 2)
    let faults = lines.filter { $0.check == "settings" }
    #expect(faults.allSatisfy { $0.status == "fail" && $0.fix != nil })
    for name in ["REDIS_URL", "MARTLET_CONCURRENCY", "MARTLET_HTTP_ADDRESS", "APNS_TEAM_ID"] {
      #expect(faults.filter { $0.text.hasPrefix("\(name):") }.count == 1, "\(name)")
    }
  }

  @Test func `a key of the wrong type fails, dead letters are noted`() async throws {
    try await fleet.redis("SET", "push:jobs", "x")
    try await fleet.redis("ZADD", QueueKeys(queue: "push:jobs:low").dead, "1", "letter")
    let (code, lines) = try await doctor()
    #expect(code == 1)
    let fault = try #require(lines.first { $0.status == "fail" })
    #expect(fault.text.contains("push:jobs is a string, not a list"))
    #expect(lines.contains { $0.check == "dead letters" && $0.status == "note" && $0.text == "push:jobs:low: 1" })
  }

  @Test func `settings of Redis that lose jobs are reported`() async throws {
    try await fleet.redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try await fleet.redis("CONFIG", "SET", "maxmemory", "1gb")
    let (code, lines) = try await doctor()
    try await fleet.redis("CONFIG", "SET", "maxmemory", "0")
    try await fleet.redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
    #expect(code == 1)
    #expect(lines.contains { $0.check == "maxmemory-policy" && $0.status == "fail" && $0.fix != nil })
  }

  @Test func `without permission for INFO doctor reports unknown and continues`() async throws {
    try await fleet.redis("ACL", "SETUSER", "worker", "on", ">secret-word", "~*", "+@all", "-info", "-time")
    let (code, lines) = try await doctor(["REDIS_URL": "unix://worker:secret-word@\(fleet.redis.socketPath)"])
    #expect(code == 0, "\(lines)")
    #expect(lines.contains { $0.check == "appendonly" && $0.status == "warn" && $0.text.hasPrefix("unknown") })
    #expect(lines.contains { $0.check == "queue" && $0.status == "ok" })
    #expect(!lines.contains { $0.text.contains("secret-word") })
  }

  @Test func `an unreachable gateway and an unreachable Redis fail`() async throws {
    let (code, lines) = try await doctor([
      "REDIS_URL": "redis://127.0.0.1:\(try freePort())",
      "APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(try freePort())",
    ])
    #expect(code == 1)
    #expect(Set(lines.filter { $0.status == "fail" }.map(\.check)) == ["redis", "apns"])
  }

  @Test func `a gateway without HTTP/2 and one with an unknown authority have their own fixes`() async throws {
    let server = try await TLSServer()
    let endpoint = ["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(server.port)"]
    for (authority, words) in [(server.authority, "HTTP/2"), (fleet.gateway.ready.caCertificate, "certificate")] {
      let (code, lines) = try await doctor(endpoint.merging(["APNS_CA_CERT": authority]) { $1 })
      #expect(code == 1)
      let fault = try #require(lines.first { $0.check == "apns" })
      #expect(fault.status == "fail" && fault.text.contains(words) && fault.fix?.contains(words) == true, "\(fault)")
    }
  }

  @Test func `polling-only mode is a note and not a failure`() async throws {
    let child = try ChildProcess(
      try builtProduct("martlet"), ["doctor"], environment: fleet.environment(isPollingOnly: true))
    #expect(try await child.exit() == 0)
    #expect(child.lines.contains { $0.hasPrefix("note") && $0.contains("polling-only") })
  }
}
