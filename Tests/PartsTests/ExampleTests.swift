import APNs
import FleetSupport
import Foundation
import JSON
import Program
import Redis
import Sidecar
import Testing
import TestSupport

@testable import Worker
@testable import Martlet
@testable import PushModel

/// The example settings in deploy/examples are valid.
struct ExampleTests {
  private static let directory = URL(filePath: #filePath).appending(path: "../../../deploy/examples")
    .standardizedFileURL

  /// The settings of an example, including commented ones if `isComplete`.
  private func settings(_ name: String, isComplete: Bool = false) throws -> [String: String] {
    let text = try String(contentsOf: Self.directory.appending(path: "\(name).env"), encoding: .utf8)
    var values: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let line = isComplete && line.hasPrefix("#") ? line.dropFirst() : line
      let parts = line.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].wholeMatch(of: /[A-Za-z_]+/) != nil else { continue }
      values[String(parts[0])] = String(parts[1])
    }
    return values
  }

  @Test func `the ryos example has the document's origin policy`() async throws {
    var values = try settings("ryos")
    values["APNS_KEY_PATH"] = try await Self.keyPath.value
    let settings = try SidecarSettings(environment: values)
    var policy = OriginPolicy()
    policy.environment = .production
    policy.allowedOrigins = ["https://os.ryo.lu"]
    policy.previewHostPrefixes = ["ryos-", "ryo-lu-", "os-ryo-"]
    policy.trustedHostSuffixes = ["*.tailb4fa61.ts.net"]
    #expect(settings.sidecar.originPolicy == policy)
    #expect(settings.sidecar.missingRedisVariables == [])
    #expect(settings.sidecar.missingAPNsVariables == [])
    #expect(settings.sidecar.bundleID == "lu.ryo.os")
    #expect(settings.service.redis?.summary.contains("upstash.io") == true)
  }

  @Test func `the claudiator example is polling-only until its commented lines are used`() async throws {
    #expect(try WorkerSettings(environment: settings("claudiator")).worker.apns == nil)
    var values = try settings("claudiator", isComplete: true)
    values["CLAUDIATOR_APNS_KEY_PATH"] = try await Self.keyPath.value
    let configuration = try WorkerSettings(environment: values).worker
    #expect(configuration.apns != nil)
    #expect(configuration.bundleID == "com.claudiator.app")
    #expect(configuration.defaultEnvironment == .production)
  }

  @Test(arguments: [("spend-monitor", "com.example.spendmonitor"), ("nyra", "com.example.home")])
  func `an example without a key registers devices, and sends once its commented lines are used`(
    name: String, bundleID: String
  ) async throws {
    #expect(try SidecarSettings(environment: settings(name)).sidecar.missingRedisVariables == [])
    #expect(try WorkerSettings(environment: settings(name)).worker.apns == nil)
    var values = try settings(name, isComplete: true)
    values["APNS_KEY_PATH"] = try await Self.keyPath.value
    #expect(try SidecarSettings(environment: values).sidecar.missingAPNsVariables == [])
    let configuration = try WorkerSettings(environment: values).worker
    #expect(configuration.apns != nil)
    #expect(configuration.bundleID == bundleID)
  }

  @Test(arguments: [false, true]) func `the push-server example uses the document's names and needs no app`(
    isComplete: Bool
  )
    throws
  {
    var values = try settings("push-server", isComplete: isComplete)
    #expect(values["keyId"] != nil && values["teamId"] != nil)
    let error = #expect(throws: ConfigurationFaults.self) { try SidecarSettings(environment: values) }
    // There is no key in the working directory of the tests.
    #expect(error?.faults.map(\.place) == ["apns_push_key.p8"])
    values["keyId"] = nil
    values["teamId"] = nil
    values["APNS_BUNDLE_ID"] = nil
    let settings = try SidecarSettings(environment: values)
    #expect(!settings.sidecar.isBroadcastOpen)
    #expect(settings.sidecar.backupPath == (isComplete ? "/etc/martlet/backup.json" : nil))
  }

  @Test func `the key of push-server is found in the working directory, and tokens name their apps`() async throws {
    let fleet = try await Fleet()
    let ready = fleet.gateway.ready
    let directory = try TemporaryDirectory()
    try FileManager.default.copyItem(
      atPath: ready.keyPath ?? "", toPath: directory.path + "/apns_push_key.p8")
    var values = try settings("push-server")
    values.merge([
      "keyId": ready.keyId, "teamId": ready.teamId, "APNS_ENDPOINT_OVERRIDE": ready.url,
      "APNS_CA_CERT": ready.caCertificate, "REDIS_URL": fleet.redis.url, "MARTLET_ADMIN_ADDRESS": "127.0.0.1:0",
      "MARTLET_HTTP_ADDRESS": "127.0.0.1:0",
    ]) { $1 }
    let process = try ChildProcess(
      "env", ["--chdir", directory.path, try builtProduct("martlet"), "all"], environment: values)
    try await process.line("the worker's start") { $0.contains("worker starts") }
    #expect(process.lines.filter { $0.contains("APNs push notifications enabled") }.count == 1)
    let token = fleet.uniqueToken()
    try await fleet.register([token], to: "alice", bundleID: "com.example.other")
    try await fleet.enqueue(#"{"id":"first","to":{"user":"alice"},"title":"T"}"#, on: "push:jobs")
    #expect(try await fleet.record("first").status == "accepted")
    #expect(try await fleet.gateway.recent().map(\.topic) == ["com.example.other"])
    try await process.stop()
  }

  @Test func `the example backup is imported completely`() async throws {
    let fleet = try await Fleet()
    let path = Self.directory.appending(path: "backup.json").path()
    let child = try await fleet.martlet("tokens", "import", path, "--json")
    #expect(child.exitCode == 0)
    #expect(child.lines(of: .output) == [#"{"new":3,"updated":0,"kept":0,"refused":{}}"#])
  }

  private static let gateway = Task { try await SimulatedGateway() }
  private static let keyPath = Task { try await gateway.value.ready.keyPath ?? "" }
}
