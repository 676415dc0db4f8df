import EventLoop
import FleetSupport
import Foundation
import Jobs
import JSON
import PushModel
import Redis
import Registry
import Telemetry
import Testing
import TestSupport

@testable import APNs
@testable import Worker

/// Devices of which it is not known, or wrong, to which environment they belong.
@Suite(.serialized) struct EnvironmentTests {
  private static let shared = Task { try await TwoEnvironments() }
  private let two: TwoEnvironments
  private let queue: String

  init() async throws {
    two = try await Self.shared.value
    queue = two.fleet.unique("environments")
  }

  private func withWorker(sandboxURL: String? = nil, _ body: () async throws -> Void) async throws {
    let worker = try await two.worker(on: queue, sandboxURL: sandboxURL)
    do {
      try await body()
    } catch {
      await two.stop(worker)
      throw error
    }
    await two.stop(worker)
  }

  private func names() -> (user: String, token: String) { (two.fleet.unique("alice"), two.fleet.uniqueToken()) }

  @Test func `an unknown device is found in the other environment once, under one apns-id`() async throws {
    try await withWorker {
      let (user, token) = names()
      try await two.register(token, to: user)
      try await two.refuse(token, in: .production)
      #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).status == "accepted")
      let first = try await two.pushes(of: token)
      #expect(first.environments == [.production, .sandbox])
      #expect(first.ids.count == 1)
      try await eventually("it is stored") { try await two.device(token)?.environment == "sandbox" }
      #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).status == "accepted")
      #expect(try await two.pushes(of: token).environments == [.production, .sandbox, .sandbox])
    }
  }

  @Test func `the record of a push to the sandbox has its apns-unique-id, and explain tells it`() async throws {
    try await withWorker {
      let (user, token) = names()
      try await two.register(token, to: user, #","environment":"sandbox""#)
      let record = try await two.deliver(#"{"user":"\#(user)"}"#, on: queue)
      let uniqueID = try #require(record.device(token)?.uniqueId)
      #expect(uniqueID.count == 36)
      let shown = try await two.fleet.martlet("explain", record.id).lines
      #expect(shown.contains { $0.hasSuffix("by apns-unique-id \(uniqueID).") })
      let result = try await two.fleet.martlet("result", record.id).lines
      #expect(result.contains { $0.contains(#""uniqueId":"\#(uniqueID)""#) })
      try await two.register(token, to: user, #","environment":"production""#)
      #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).device(token)?.uniqueId == nil)
    }
  }

  @Test func `a device that the default environment accepts is stored, too`() async throws {
    try await withWorker {
      let (user, token) = names()
      try await two.register(token, to: user)
      #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).status == "accepted")
      try await eventually("it is stored") { try await two.device(token)?.environment == "production" }
      #expect(try await two.pushes(of: token).environments == [.production])
    }
  }

  @Test func `a device that is registered with the wrong environment is corrected`() async throws {
    try await withWorker {
      let (user, token) = names()
      try await two.register(token, to: user, #","environment":"sandbox""#)
      try await two.refuse(token, in: .sandbox)
      #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).status == "accepted")
      #expect(try await two.pushes(of: token).environments == [.sandbox, .production])
      try await eventually("it is corrected") { try await two.device(token)?.environment == "production" }
    }
  }

  @Test func `a device that was imported without its environment is learned with its first push`() async throws {
    try await withWorker {
      let (user, token) = names()
      let directory = try TemporaryDirectory()
      let file = directory.path + "/devices.json"
      try #"{"\#(TwoEnvironments.app)":{"\#(token)":{"username":"\#(user)"}}}"#
        .write(toFile: file, atomically: false, encoding: .utf8)
      let child = try await two.fleet.martlet("tokens", "import", file)
      #expect(child.exitCode == 0)
      #expect(try await two.device(token)?.environment == nil)
      try await two.refuse(token, in: .production)
      #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).status == "accepted")
      #expect(try await two.pushes(of: token).environments == [.production, .sandbox])
      try await eventually("it is stored") { try await two.device(token)?.environment == "sandbox" }
    }
  }

  @Test func `the device of an instance is corrected`() async throws {
    try await withWorker {
      let (instance, token) = names()
      try await two.fleet.register(instance: instance, token: token)
      try await two.refuse(token, in: .production)
      #expect(try await two.fleet.deliver("attention_ping", to: instance, on: queue).status == "accepted")
      try await eventually("it is corrected") {
        try await two.fleet.instanceRecord(instance)?.environment == .sandbox
      }
    }
  }

  @Test func `an instance whose device no environment knows is deactivated`() async throws {
    try await withWorker {
      let (instance, token) = names()
      try await two.fleet.register(instance: instance, token: token)
      try await two.refuse(token, in: .production, .sandbox)
      #expect(try await two.fleet.deliver("attention_ping", to: instance, on: queue).stale == 1)
      try await eventually("it is inactive") {
        try await two.fleet.instanceRecord(instance)?.isActive == false
      }
    }
  }

  @Test func `a broadcast learns the environments of its audience`() async throws {
    try await withWorker {
      let (user, app) = (two.fleet.unique("alice"), "com.example.\(two.fleet.unique("app"))")
      let tokens = two.fleet.uniqueTokens(150)
      try await two.fleet.register(tokens, to: user, bundleID: app)
      // Fewer than a user may look up in a minute.
      for token in tokens.prefix(50) { try await two.refuse(token, in: .production) }
      let record = try await two.deliver(#"{"app":"\#(app)"}"#, on: queue)
      #expect(record.accepted == 150)
      try await eventually("all are stored") {
        for (index, token) in tokens.enumerated() {
          guard try await two.device(token)?.environment == (index < 50 ? "sandbox" : "production") else {
            return false
          }
        }
        return true
      }
    }
  }

  @Test func `while the other gateway is out of reach, its device stays, and others get their pushes`() async throws {
    try await withWorker(sandboxURL: "https://127.0.0.1:\(try freePort())") {
      let (user, token) = names()
      try await two.register(token, to: user)
      try await two.refuse(token, in: .production)
      let id = two.fleet.unique("job")
      try await two.fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"T"}"#, on: queue)
      let other = names()
      try await two.register(other.token, to: other.user)
      #expect(try await two.deliver(#"{"user":"\#(other.user)"}"#, on: queue).status == "accepted")
      let record = try await two.fleet.record(id, "a retry") { $0.status == "retrying" }
      #expect(record.failed == 0)
      #expect(try await two.device(token) != nil)
    }
  }

  @Test func `a token that is not registered is tried in both environments, and nothing is stored`() async throws {
    try await withWorker {
      let token = two.fleet.uniqueToken()
      try await two.refuse(token, in: .production)
      #expect(try await two.deliver(#"{"token":"\#(token)"}"#, on: queue).status == "accepted")
      #expect(try await two.pushes(of: token).environments == [.production, .sandbox])
      #expect(try await two.device(token) == nil)
    }
  }

  // MARK: - Test pushes

  @EventLoop
  private func testPush(_ devices: [Device]) async throws -> (report: DirectReport, stoppedRemovals: [RouteNotice]) {
    let clients = AppClients(fallback: try two.configuration(), metrics: Metrics(), log: .silent)
    defer { clients.close() }
    let registry = Registry(connection: two.fleet.connection, log: .silent)
    let composer = PushComposer(bundleID: TwoEnvironments.app, environment: .production, clients: clients)
    let direct = DirectDelivery(clients: clients, registry: registry, composer: composer, log: .silent)
    let report = await direct.send(Array(#"{"aps":{"alert":"x"}}"#.utf8), to: devices, concurrency: 2)
    return (report, clients.stoppedRemovals)
  }

  /// Devices of more users than the removal guard needs.
  private func devicesOfMany() -> [Device] {
    (0..<30).map { number in
      Device(
        token: DeviceToken(two.fleet.uniqueToken()), username: Username(two.fleet.unique("owner\(number)")),
        bundleID: TwoEnvironments.app,
        updatedAt: 1_700_000_000_000, kind: .app)
    }
  }

  @Test func `test pushes that find their devices in the other environment stop no removal`() async throws {
    let devices = devicesOfMany()
    for device in devices { try await two.refuse(device.token.text, in: .production) }
    let (report, stoppedRemovals) = try await testPush(devices)
    #expect(report.results.allSatisfy { $0.status == 200 })
    #expect(stoppedRemovals == [])
  }

  @Test func `test pushes to tokens that no environment knows stop the removal, as jobs do`() async throws {
    let devices = devicesOfMany()
    for device in devices { try await two.refuse(device.token.text, in: .production, .sandbox) }
    let (report, stoppedRemovals) = try await testPush(devices)
    #expect(report.results.allSatisfy { $0.status == 400 })
    #expect(stoppedRemovals.map(\.environment) == [.sandbox])
  }

  @Test func `a test push finds its device in the other environment, too`() async throws {
    let (user, token) = names()
    let gone = two.fleet.uniqueToken()
    for token in [token, gone] { try await two.register(token, to: user, #","bundleId":"com.example.demo""#) }
    try await two.refuse(token, in: .production)
    try await two.refuse(gone, in: .production, .sandbox)
    func device(_ token: String, _ kind: DeviceKind = .app) -> Device {
      Device(
        token: DeviceToken(token), username: Username(user), bundleID: "com.example.demo", updatedAt: 1_700_000_000_000,
        kind: kind)
    }
    let (report, _) = try await testPush([device(token), device(gone), device(two.fleet.uniqueToken(), .voip)])
    #expect(report.results.map(\.status) == [200, 400, 0])
    #expect(report.results[2].reason == "WrongTokenKind")
    #expect(report.staleRemoved == 1)
    #expect(try await two.device(gone) == nil)
    let pushes = try await two.pushes(of: token)
    #expect(pushes.environments == [.production, .sandbox])
    #expect(pushes.ids.count == 1)
    try await eventually("it is stored") { try await two.device(token)?.environment == "sandbox" }
  }
}
