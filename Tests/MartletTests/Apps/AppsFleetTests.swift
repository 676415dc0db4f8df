import FleetSupport
import Foundation
import Jobs
import JSON
import Queue
import Testing
import TestSupport

@testable import Worker

/// A worker, a sidecar and doctor with the apps of several teams, to the simulator.
@Suite(.serialized) struct AppsFleetTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let directory: AppsDirectory

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
    directory = try AppsDirectory()
  }

  /// Makes a key that the gateway accepts for the topics, and returns the entry of its app.
  private func app(
    _ bundleID: String, team: String, keys: [String], at endpoint: String? = nil, more: String = ""
  ) async throws -> String {
    for key in keys {
      let path = try await fleet.gateway.addKey(key, of: team, topics: [bundleID])
      let copy = "\(directory.path)/\(key).p8"
      if FileManager.default.fileExists(atPath: copy) { try FileManager.default.removeItem(atPath: copy) }
      try FileManager.default.copyItem(atPath: path, toPath: copy)
    }
    let names = keys.map { #"{"keyId":"\#($0)","path":"\#($0).p8"}"# }.joined(separator: ",")
    return #"{"bundleIds":["\#(bundleID)"],"teamId":"\#(team)","keys":[\#(names)],"#
      + #""endpoint":"\#(endpoint ?? fleet.gateway.ready.url)","caCert":"\#(fleet.gateway.ready.caCertificate)"\#(more)}"#
  }

  private var settings: [String: String?] { ["MARTLET_APPS": directory.file] }

  /// Enqueues jobs to one app, each to a device of its own, and returns their ids.
  private func enqueue(_ count: Int, to app: String, on queue: String) async throws -> [String] {
    let ids = (0..<count).map { _ in fleet.unique("job") }
    try await fleet.enqueue(
      ids.map { id in
        Array(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"app":"\#(app)","title":"x"}"#.utf8)
      }, on: queue)
    return ids
  }

  private func accepted(_ ids: [String]) async throws -> Bool {
    for id in ids where try await fleet.record(id).status != "accepted" { return false }
    return true
  }

  private func reload(_ worker: FleetWorker, count: Int = 1) async throws {
    worker.process.signal(SIGHUP)
    try await eventually("read again") {
      worker.process.lines.count { $0.contains("apps read again") } == count
    }
  }

  @Test func `jobs of two teams are sent with their keys, and those of no app are dead with a reason`() async throws {
    try directory.write(
      apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"]),
      try await app("com.b", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"], more: #","environment":"sandbox""#))
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    #expect(!worker.process.lines.contains { $0.contains("polling-only") })
    let ids = try await enqueue(20, to: "com.a", on: worker.queue) + enqueue(20, to: "com.b", on: worker.queue)
    #expect(try await accepted(ids))
    #expect(try await fleet.gateway.ledger().byReason == [:])
    let token = fleet.uniqueToken()
    try await fleet.register([token], to: "carol", bundleID: "com.b")
    try await fleet.enqueue(#"{"id":"by-device","to":{"user":"carol"},"title":"x"}"#, on: worker.queue)
    #expect(try await fleet.record("by-device").status == "accepted")
    #expect(try await fleet.gateway.recent().last?.topic == "com.b")
    let nobody = #"{"id":"nobody","to":{"token":"\#(token)"},"app":"com.nobody","title":"x"}"#
    try await fleet.enqueue(nobody, on: worker.queue)
    #expect(try await fleet.record("nobody").status == "dead")
    let reason = try await fleet.deadLetters(worker.queue, count: 1)[0].reason
    #expect(reason.contains("MARTLET_APPS has the bundle id com.nobody"))
    #expect(try await worker.stop() == 0)
  }

  @Test func `a device of no app does not fail the other devices of its user`() async throws {
    try directory.write(apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"]))
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    let (user, tokens) = (fleet.unique("user"), fleet.uniqueTokens(2))
    try await fleet.register([tokens[0]], to: user, bundleID: "com.a")
    try await fleet.register([tokens[1]], to: user, bundleID: "com.gone")
    let id = fleet.unique("job")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"x"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "partial")
    #expect(record.reasons == ["UnknownApp": 1])
    #expect(try await worker.stop() == 0)
  }

  @Test func `the key of the environment is for the bundle ids that no app names`() async throws {
    try directory.write(apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"]))
    let worker = try await fleet.worker(settings)
    let ids = try await enqueue(5, to: "com.a", on: worker.queue) + enqueue(5, to: "com.other", on: worker.queue)
    #expect(try await accepted(ids))
    #expect(try await fleet.gateway.ledger().connections == 2)
    #expect(try await worker.stop() == 0)
  }

  @Test func `one app's key is refused while the other app is served`() async throws {
    try directory.write(
      apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"]),
      try await app("com.b", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"]))
    try await fleet.gateway.revokeKey("KEYAAAAAA1")
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    let refused = try await enqueue(50, to: "com.a", on: worker.queue)
    let served = try await enqueue(50, to: "com.b", on: worker.queue)
    #expect(try await accepted(served))
    try await eventually("the route is paused") { try await worker.get("/readyz").body.contains(#""topic":"com.a""#) }
    #expect(try await worker.get("/readyz").status == 200)
    for id in refused { #expect(try await fleet.currentRecord(id)?.isFinal != true) }
    // A valid key is taken up at once: the new client has no paused route.
    try directory.write(
      apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA2"]),
      try await app("com.b", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"]))
    try await fleet.gateway.revokeKey("KEYAAAAAA1")
    try await reload(worker)
    #expect(try await accepted(try await enqueue(20, to: "com.a", on: worker.queue)))
    #expect(try await !worker.get("/readyz").body.contains(#""topic":"com.a""#))
    #expect(try await worker.stop() == 0)
  }

  @Test func `the second key signs when the first is refused, and readiness says so`() async throws {
    try directory.write(apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1", "KEYAAAAAA2"]))
    try await fleet.gateway.revokeKey("KEYAAAAAA1")
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    #expect(try await accepted(try await enqueue(50, to: "com.a", on: worker.queue)))
    let readiness = try JSONValue(parsing: Array(try await worker.get("/readyz").body.utf8))
    #expect(readiness["ready"]?.bool == true)
    #expect(readiness["refusedKeys"]?.array?.compactMap { $0["keyId"]?.string } == ["KEYAAAAAA1"])
    #expect(try await worker.metric(#"martlet_apns_refused_keys{team="TEAMAAAAA1",key="KEYAAAAAA1"}"#) == 1)
    #expect(worker.process.lines.count { $0.contains("APNs refuses a provider key") } == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a key is changed under a stream of pushes: none is lost, none is sent twice`() async throws {
    let first = try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"])
    let second = try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA2"])
    try directory.write(apps: first)
    try await fleet.gateway.settings(#"{"rttMs":20}"#)
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    let ids = try await enqueue(3000, to: "com.a", on: worker.queue)
    for round in 1...4 {
      try await eventually("some are accepted") { try await fleet.gateway.ledger().accepted >= round * 500 }
      try directory.write(apps: round.isMultiple(of: 2) ? first : second)
      try await reload(worker, count: round)
    }
    try await fleet.settled(worker.queue)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.accepted == ids.count)
    #expect(ledger.received == ids.count)
    #expect(ledger.duplicates == 0)
    #expect(try await accepted(ids))
    #expect(try await worker.stop() == 0)
  }

  @Test func `SIGHUP with a broken file changes nothing and logs each fault`() async throws {
    let good = try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"])
    try directory.write(apps: good)
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    #expect(try await accepted(try await enqueue(5, to: "com.a", on: worker.queue)))
    let message = "the file of the apps is invalid; the apps in use stay"
    func faults() -> [String] { worker.process.lines.filter { $0.contains(message) } }
    try directory.write(#"{"apps":[{"bundleIds":["com.a"],"certPath":"push.p12"}]}"#)
    worker.process.signal(SIGHUP)
    try await eventually("three faults") { faults().count == 3 }
    for place in ["apps[0].certPath", "apps[0].teamId", "apps[0].keys"] {
      #expect(faults().contains { $0.contains(#""place":"\#(place)""#) }, "\(place)")
    }
    try directory.write("{")
    worker.process.signal(SIGHUP)
    try await eventually("one more") { faults().count == 4 }
    try FileManager.default.removeItem(atPath: directory.file)
    worker.process.signal(SIGHUP)
    try await eventually("the file is missing") { faults().count == 5 }
    #expect(try await accepted(try await enqueue(5, to: "com.a", on: worker.queue)))
    // An app is added, and the other one is removed.
    try directory.write(apps: try await app("com.b", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"]))
    try await reload(worker)
    let line = try await worker.process.line("what changed") { $0.contains("apps read again") }
    #expect(line.contains(#""added":1,"changed":0,"removed":1"#))
    #expect(try await accepted(try await enqueue(5, to: "com.b", on: worker.queue)))
    let gone = try await enqueue(1, to: "com.a", on: worker.queue)[0]
    #expect(try await fleet.record(gone).status == "dead")
    #expect(try await worker.stop() == 0)
  }

  @Test func `jobs of an app whose gateway is out of reach are kept while the other app is served`() async throws {
    let port = try freePort()
    try directory.write(
      apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"], at: "https://127.0.0.1:\(port)"),
      try await app("com.b", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"]))
    let worker = try await fleet.worker(settings, isPollingOnly: true)
    let waiting = try await enqueue(100, to: "com.a", on: worker.queue)
    for _ in 0..<3 { #expect(try await accepted(try await enqueue(20, to: "com.b", on: worker.queue))) }
    for id in waiting { #expect(try await fleet.currentRecord(id)?.isFinal != true) }
    try await eventually("all of them are postponed") { try await fleet.unsettled(worker.queue) == waiting.count }
    #expect(try await worker.stop() == 0)
    #expect(try await fleet.unsettled(worker.queue) == waiting.count)
  }

  @Test(arguments: ["sidecar", "all"])
  func `test pushes go through the app of the device`(command: String) async throws {
    try directory.write(
      apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA1"]),
      try await app("com.b", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"]))
    let sidecar = try await fleet.sidecar(command, settings, isPollingOnly: true)
    try await sidecar.apns("ok")
    let (user, tokens) = (try await fleet.userWithCredentials("apps"), fleet.uniqueTokens(3))
    for (token, app) in zip(tokens, ["com.a", "com.b", "com.gone"]) {
      try await fleet.register([token], to: user, bundleID: app)
    }
    // On a slow machine a push may end before there is a connection.
    func expectTwo() async throws {
      try await eventually("two are accepted") {
        let answer = try await sidecar.push("test", as: user, #"{"title":"T"}"#)
        #expect(answer.status == 200)
        #expect(answer.json["failureReasons"]?["UnknownApp"]?.count == 1)
        return answer.json["successCount"]?.count == 2
      }
    }
    try await expectTwo()
    #expect(Set(try await fleet.gateway.recent().compactMap(\.topic)) == ["com.a", "com.b"])
    try directory.write(
      apps: try await app("com.a", team: "TEAMAAAAA1", keys: ["KEYAAAAAA2"]),
      try await app("com.gone", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"]))
    sidecar.process.signal(SIGHUP)
    try await sidecar.process.line("read again") { $0.contains("apps read again") }
    try await expectTwo()
    #expect(try await sidecar.stop() == 0)
  }

  @Test func `doctor checks keys and gateways of the apps, and its output does not grow with them`() async throws {
    var apps: [String] = []
    let key = try await fleet.gateway.addKey("KEYAAAAAA1", of: "TEAMAAAAA1")
    for number in 0..<200 {
      apps.append(
        #"{"bundleIds":["com.app\#(number)"],"teamId":"TEAMAAAAA1","keys":[{"keyId":"KEYAAAAAA1","path":"\#(key)"}],"#
          + #""endpoint":"\#(fleet.gateway.ready.url)","caCert":"\#(fleet.gateway.ready.caCertificate)"}"#)
    }
    let port = try freePort()
    apps.append(try await app("com.down", team: "TEAMBBBBB1", keys: ["KEYBBBBBB1"], at: "https://127.0.0.1:\(port)"))
    try directory.write(apps: apps.joined(separator: ","))
    let values = gatewayOff.merging(settings) { $1 }
    let child = try await fleet.martlet("doctor", environment: values)
    let lines = child.lines(of: .output)
    #expect(lines.contains { $0.contains("201 with 201 bundle ids and 2 keys; every key signs") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("ok") && $0.contains("com.app0 and 199 more") })
    #expect(lines.contains { $0.hasPrefix("fail") && $0.contains("com.down") && $0.contains("cannot be reached") })
    #expect(!lines.contains { $0.contains("polling-only") })
    #expect(lines.count < 40)
    #expect(child.exitCode == 1)
    try directory.write("{}")
    let broken = try await fleet.martlet("doctor", environment: values)
    #expect(broken.exitCode == 2)
    #expect(broken.lines(of: .output).contains { $0.hasPrefix("fail") && $0.contains("MARTLET_APPS") })
  }

  /// Takes the `APNS_*` settings of the fleet away.
  private var gatewayOff: [String: String?] {
    var changes: [String: String?] = [:]
    for name in fleet.gateway.environment.keys { changes.updateValue(nil, forKey: name) }
    return changes
  }
}
