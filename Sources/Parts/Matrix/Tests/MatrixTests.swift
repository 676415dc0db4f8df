import FleetSupport
import Foundation
import JSON
import PushModel
import Redis
import Registry
import Testing
import TestSupport
@testable import Matrix

/// The Matrix push gateway, with a worker and a simulator for each environment.
@Suite(.serialized) struct MatrixTests {
  private let fleet: Fleet
  private let directory: TemporaryDirectory

  init() async throws {
    fleet = try await Fleet(hasBothEnvironments: true)
    directory = try TemporaryDirectory()
  }

  private func write(_ apps: String) throws {
    try Data(#"{"apps":{\#(apps)}}"#.utf8).write(to: URL(filePath: "\(directory.path)/matrix.json"))
  }

  private func sidecar(_ changes: [String: String?] = [:]) async throws -> SidecarProcess {
    let matrix = ["MARTLET_MATRIX": "\(directory.path)/matrix.json"] as [String: String?]
    return try await fleet.sidecar("sidecar", matrix.merging(changes) { $1 })
  }

  private func notify(
    _ sidecar: SidecarProcess, _ token: String, _ event: String, app: String = "im.app.ios", setAt: Int64 = 1
  ) async throws -> [JSONValue] {
    let device = #"{"app_id":"\#(app)","pushkey":"\#(token)","pushkey_ts":\#(setAt)}"#
    let body = #"{"notification":{"event_id":"\#(event)","type":"m.room.message","devices":[\#(device)]}}"#
    let answer = try await sidecar.ask("/_matrix/push/v1/notify", as: "nobody", body)
    #expect(answer.status == 200, "\(answer.json)")
    return try #require(answer.json["rejected"]?.array)
  }

  private func statuses(_ gateway: SimulatedGateway?, of token: String) async throws -> [Int] {
    try await gateway?.recent().filter { $0.token == token }.map(\.status) ?? []
  }

  @Test func `the environment of the file is asked first, and what is gone is rejected`() async throws {
    try write(#""im.app.*":{"bundleId":"com.example.demo","environment":"sandbox"}"#)
    let queue = fleet.unique("matrix")
    let token = fleet.uniqueToken()
    // Without records, too.
    let worker = try await fleet.worker(["MARTLET_RESULTS": "none"], on: queue)
    let sidecar = try await sidecar(["MARTLET_QUEUES": queue])
    #expect(try await notify(sidecar, token, "$1").isEmpty)
    try await eventually("the push") { try await statuses(fleet.sandbox, of: token) == [200] }
    // The same notification again is not sent. The next one is, and was enqueued later.
    #expect(try await notify(sidecar, token, "$1").isEmpty)
    #expect(try await notify(sidecar, token, "$2").isEmpty)
    try await eventually("the next push") { try await statuses(fleet.sandbox, of: token).count == 2 }
    try await eventually("the duplicate") {
      try await worker.metric(#"martlet_jobs_total{status="duplicate"}"#) == 1
    }
    #expect(try await statuses(fleet.sandbox, of: token) == [200, 200])
    #expect(try await statuses(fleet.gateway, of: token).isEmpty)
    // What strangers make the fleet keep is gone soon.
    let values = try await fleet.redis("KEYS", "martlet:{*}:dedupe:*:matrix-*").array?.compactMap(\.string) ?? []
    #expect(values.count == 2)
    for value in values {
      #expect((1...300).contains(try await fleet.redis("TTL", value).integer ?? 0), "\(value)")
    }
    try await fleet.sandbox?.device(token, #""rule":"unregistered","since":1700000000000"#)
    #expect(try await notify(sidecar, token, "$3").isEmpty)
    try await eventually("the rejection") {
      try await notify(sidecar, token, "$\(fleet.unique("later"))", setAt: 1_699_999_999) == [.string(token)]
    }
    // The pusher was set again after that.
    let pushes = try await statuses(fleet.sandbox, of: token).count
    #expect(try await notify(sidecar, token, "$4", setAt: 1_700_000_000).isEmpty)
    try await eventually("one more push") { try await statuses(fleet.sandbox, of: token).count > pushes }
    #expect(try await notify(sidecar, token, "$5", setAt: 1_700_000_000).isEmpty)
    // All the time the device was not registered.
    #expect(try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == 0)
    #expect(try await sidecar.stop() == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `SIGHUP reads the file again, and a broken one changes nothing`() async throws {
    try write(#""im.app.*":{"bundleId":"com.example.demo"}"#)
    let sidecar = try await sidecar(["MARTLET_QUEUES": fleet.unique("matrix")])
    let token = fleet.uniqueToken()
    #expect(try await notify(sidecar, token, "$1", app: "org.other") == [.string(token)])
    try await sidecar.process.line("the warning") { $0.contains("no app has their app_id") && $0.contains("org.other") }
    try write(#""org.*":{"bundleId":7}"#)
    sidecar.process.signal(SIGHUP)
    try await sidecar.process.line("the fault") { $0.contains("the apps in use stay") && $0.contains("org.*.bundleId") }
    #expect(try await notify(sidecar, token, "$2").isEmpty)
    try write(#""org.*":{"bundleId":"com.example.demo"}"#)
    sidecar.process.signal(SIGHUP)
    try await sidecar.process.line("the new apps") { $0.contains("apps of Matrix read again") }
    #expect(try await notify(sidecar, token, "$3", app: "org.other").isEmpty)
    #expect(try await notify(sidecar, token, "$4") == [.string(token)])
    #expect(try await sidecar.stop() == 0)
  }
}
