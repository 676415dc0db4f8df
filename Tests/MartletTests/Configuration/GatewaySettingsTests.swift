import TestSupport
import Testing

@testable import Worker
@testable import Martlet

/// A fault of the gateway's settings is reported under the name of its setting.
struct GatewaySettingsTests {
  private static let gateway = Task { try await SimulatedGateway() }

  private func faults(_ changes: [String: String]) async throws -> [String] {
    let values = try await Self.gateway.value.environment.merging(["REDIS_URL": "redis://localhost"]) { $1 }
    do throws(ConfigurationFaults) {
      _ = try WorkerSettings(environment: values.merging(changes) { $1 })
      return []
    } catch {
      return error.faults.map(\.name)
    }
  }

  @Test func `1 to 64 connections are allowed`() async throws {
    for count in ["1", "16", "17", "64"] { #expect(try await faults(["APNS_CONNECTIONS": count]) == []) }
    for count in ["0", "65", "many"] {
      #expect(try await faults(["APNS_CONNECTIONS": count]) == ["APNS_CONNECTIONS"])
    }
  }

  @Test func `an invalid certificate or endpoint is not reported as a fault of the key`() async throws {
    let broken = "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----"
    #expect(try await faults(["APNS_CA_CERT": broken]) == ["APNS_CA_CERT"])
    #expect(try await faults(["APNS_ENDPOINT_OVERRIDE": "https://localhost:99999"]) == ["APNS_ENDPOINT_OVERRIDE"])
  }
}
