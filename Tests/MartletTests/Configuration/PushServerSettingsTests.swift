import JSON
import Program
import Sidecar
import Testing
import TestSupport

@testable import Worker
@testable import Martlet

/// The push server's names of the key settings.
struct PushServerSettingsTests {
  private static let gateway = Task { try await SimulatedGateway() }

  private func values(_ changes: [String: String?] = [:]) async throws -> [String: String] {
    let ready = try await Self.gateway.value.ready
    var values = ["REDIS_URL": "redis://localhost", "keyId": ready.keyId, "teamId": ready.teamId]
    values["APNS_KEY_PATH"] = ready.keyPath
    for (name, value) in changes { values[name] = value }
    return values
  }

  @Test func `both names with a key are a complete configuration without an app`() async throws {
    let configuration = try WorkerSettings(environment: try await values()).worker
    #expect(configuration.apns != nil)
    #expect(configuration.bundleID == nil)
    let sidecar = try SidecarSettings(environment: try await values(["APNS_BUNDLE_ID": "com.own"]))
    #expect(sidecar.gateway.configuration != nil)
    #expect(sidecar.sidecar.missingAPNsVariables == [])
    #expect(sidecar.sidecar.bundleID == "com.own")
  }

  @Test func `Martlet's own names take precedence and need an app`() async throws {
    let keyID = try await Self.gateway.value.ready.keyId
    let environment = try await values(["keyId": "wrong name", "APNS_KEY_ID": keyID])
    let error = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: environment) }
    #expect(error?.faults.map(\.place) == ["APNS_BUNDLE_ID"])
  }

  @Test(arguments: ["keyId", "teamId"]) func `one without the other is a fault`(name: String) async throws {
    let environment = try await values([name: nil, "APNS_KEY_PATH": nil])
    let error = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: environment) }
    #expect(
      error?.faults.map(\.place) == [
        name, "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY",
      ])
  }

  @Test func `the fault of a missing key file in the working directory names it`() async throws {
    let environment = try await values(["APNS_KEY_PATH": nil])
    let error = #expect(throws: ConfigurationFaults.self) { try WorkerSettings(environment: environment) }
    #expect(error?.faults.map(\.place) == ["apns_push_key.p8"])
  }
}
