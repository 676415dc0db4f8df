@testable import APNs
import FleetSupport
import JSON
import Program
import PushModel
import Testing
import TestSupport

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
      return error.faults.map(\.place)
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
    let kinds = ["", "SANDBOX_", "BROADCAST_", "CHANNELS_"]
    for name in kinds.map({ "APNS_\($0)ENDPOINT_OVERRIDE" }) {
      for endpoint in ["https://localhost:99999", "http://localhost", "localhost:2197"] {
        #expect(try await faults([name: endpoint]) == [name])
      }
    }
  }

  @Test(arguments: [
    (nil, nil, ["https://api.push.apple.com:443", "https://api.sandbox.push.apple.com:443"]),
    (nil, "https://b.example", ["https://api.push.apple.com:443", "https://b.example:443"]),
    ("https://a.example", nil, ["https://a.example:443"]),
    ("https://a.example", "https://b.example", ["https://a.example:443", "https://b.example:443"]),
    ("https://a.example", "https://a.example:443/", ["https://a.example:443"]),
  ])
  func `an endpoint is for both environments, and one for the sandbox alone`(
    both: String?, sandbox: String?, origins: [String]
  ) async throws {
    var values = try await Self.gateway.value.environment.merging(["REDIS_URL": "redis://localhost"]) { $1 }
    values["APNS_ENDPOINT_OVERRIDE"] = both
    values["APNS_SANDBOX_ENDPOINT_OVERRIDE"] = sandbox
    #expect(try WorkerSettings(environment: values).worker.apns?.origins == origins)
  }

  @Test(arguments: [
    (nil, ["https://api.push.apple.com:443", "https://api.sandbox.push.apple.com:443"]),
    ("https://a.example", ["https://a.example:443", "https://a.example:443"]),
    (
      "https://api-broadcast.push.apple.com",
      ["https://api-broadcast.push.apple.com:443", "https://api-broadcast.sandbox.push.apple.com:443"]
    ),
  ])
  func `broadcasts go to the gateways, or to an origin of their own; Apple's stands for both environments`(
    override: String?, origins: [String]
  ) async throws {
    var values = try await Self.gateway.value.environment.merging(["REDIS_URL": "redis://localhost"]) { $1 }
    values["APNS_ENDPOINT_OVERRIDE"] = nil
    values["APNS_BROADCAST_ENDPOINT_OVERRIDE"] = override
    let apns = try #require(try WorkerSettings(environment: values).worker.apns)
    #expect([.production, .sandbox].map { apns.broadcastOrigin(of: $0).url } == origins)
  }

  @Test func `channels are managed at Apple's servers, each environment at its own, or at one origin`() async throws {
    var values = try await Self.gateway.value.environment.merging(["REDIS_URL": "redis://localhost"]) { $1 }
    let apple = try #require(try WorkerSettings(environment: values).worker.apns)
    #expect(
      [.production, .sandbox].map(apple.channelsURL) == [
        "https://api-manage-broadcast.push.apple.com:2196", "https://api-manage-broadcast.sandbox.push.apple.com:2195",
      ])
    #expect(!apple.hasOneChannelsOrigin)
    values["APNS_CHANNELS_ENDPOINT_OVERRIDE"] = "https://a.example:2196"
    let other = try #require(try WorkerSettings(environment: values).worker.apns)
    #expect(other.channelsURL(of: .sandbox) == "https://a.example:2196")
    #expect(other.hasOneChannelsOrigin)
  }
}
