import APNs
import JSON
import Program
import Testing
import TestSupport

@testable import Worker
@testable import Martlet
@testable import PushModel

/// The alternative names of docs/settings.md.
struct ClaudiatorSettingsTests {
  private static let gateway = Task { try await SimulatedGateway() }

  private func values(_ changes: [String: String?] = [:]) async throws -> [String: String] {
    let ready = try await Self.gateway.value.ready
    var values = [
      "REDIS_URL": "redis://localhost", "CLAUDIATOR_APNS_KEY_ID": ready.keyId, "CLAUDIATOR_APNS_TEAM_ID": ready.teamId,
    ]
    values["CLAUDIATOR_APNS_KEY_PATH"] = ready.keyPath
    for (name, value) in changes { values[name] = value }
    return values
  }

  @Test func `a key file, its id and the team are a complete configuration`() async throws {
    let configuration = try WorkerSettings(environment: try await values()).worker
    #expect(configuration.apns != nil)
    #expect(configuration.bundleID == "com.claudiator.app")
    #expect(configuration.defaultEnvironment == .production)
  }

  @Test func `app and sandbox can be named`() async throws {
    let configuration = try WorkerSettings(
      environment: try await values(["CLAUDIATOR_APNS_BUNDLE_ID": "com.other", "CLAUDIATOR_APNS_SANDBOX": "true"])
    ).worker
    #expect(configuration.bundleID == "com.other")
    #expect(configuration.defaultEnvironment == .sandbox)
    #expect(configuration.apns?.defaultEnvironment == .sandbox)
  }

  @Test func `Martlet's own names take precedence`() async throws {
    let configuration = try WorkerSettings(
      environment: try await values([
        "CLAUDIATOR_APNS_KEY_ID": "wrong", "APNS_KEY_ID": try await Self.gateway.value.ready.keyId,
        "APNS_BUNDLE_ID": "com.own", "CLAUDIATOR_APNS_BUNDLE_ID": "com.other", "APNS_USE_SANDBOX": "false",
        "CLAUDIATOR_APNS_SANDBOX": "true",
      ])
    ).worker
    #expect(configuration.defaultEnvironment == .production)
    #expect(configuration.apns != nil)
    #expect(configuration.bundleID == "com.own")
  }

  @Test(arguments: ["CLAUDIATOR_APNS_KEY_ID", "CLAUDIATOR_APNS_TEAM_ID", "CLAUDIATOR_APNS_KEY_PATH"])
  func `an incomplete configuration is a fault that names what is missing`(name: String) async throws {
    let environment = try await values([name: nil])
    let error = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: environment) }
    #expect(error?.faults.map(\.place) == [name])
    #expect(error?.text.contains("\(name) (or \(name.dropFirst("CLAUDIATOR_".count))): not set") == true)
  }

  @Test(arguments: [("CLAUDIATOR_APNS_BUNDLE_ID", "com.other"), ("CLAUDIATOR_APNS_SANDBOX", "false")])
  func `the app or the sandbox alone configures nothing`(name: String, value: String) throws {
    let values = ["REDIS_URL": "redis://localhost", name: value]
    #expect(try WorkerSettings(environment: values).worker.apns == nil)
    #expect(try SidecarSettings(environment: values).gateway.configuration == nil)
  }

  @Test func `a malformed value is reported under the name that was set`() async throws {
    let environment = try await values(["CLAUDIATOR_APNS_TEAM_ID": "no team"])
    let error = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: environment) }
    #expect(error?.text.contains("CLAUDIATOR_APNS_TEAM_ID (or APNS_TEAM_ID): 'no team'") == true)
  }

  @Test func `each of the names brings the default app`() throws {
    let values = ["REDIS_URL": "redis://localhost", "CLAUDIATOR_APNS_SANDBOX": "true"]
    #expect(try SidecarSettings(environment: values).gateway.bundleID == "com.claudiator.app")
  }

  @Test func `APNS_BUNDLE_ID alone is an incomplete configuration`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try WorkerSettings(environment: ["REDIS_URL": "redis://localhost", "APNS_BUNDLE_ID": "com.own"])
    }
    #expect(error?.faults.map(\.place) == ["APNS_KEY_ID", "APNS_TEAM_ID", "APNS_PRIVATE_KEY"])
  }

  @Test func `a key file that cannot be read is a fault`() async throws {
    let environment = try await values(["CLAUDIATOR_APNS_KEY_PATH": "/nowhere/key.p8"])
    let error = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: environment) }
    #expect(error?.faults.map(\.place) == ["CLAUDIATOR_APNS_KEY_PATH"])
    #expect(error?.text.contains("/nowhere/key.p8") == true)
  }
}
