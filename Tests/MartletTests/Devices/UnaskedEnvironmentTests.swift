import FleetSupport
import Foundation
import Jobs
import PushModel
import Redis
import Registry
import Testing
import TestSupport

/// Devices that may be of an environment which cannot be asked: that one knows nothing of their tokens proves nothing.
@Suite(.serialized) struct UnaskedEnvironmentTests {
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Fleet()
    queue = fleet.unique("unasked")
  }

  /// Registers a device that the gateway calls invalid, as a registration does.
  private func invalid(_ environment: PushEnvironment?, updatedAt: Int64 = 1_700_000_000_000) async throws -> String {
    let token = fleet.uniqueToken()
    try await fleet.gateway.device(token, #""rule":"bad""#)
    try await register(token, environment, updatedAt: updatedAt)
    return token
  }

  private func register(_ token: String, _ environment: PushEnvironment?, updatedAt: Int64) async throws {
    let metadata = DeviceMetadata(
      username: "u-\(token)", platform: .ios, updatedAt: updatedAt, environment: environment)
    try await fleet.redis("SADD", RegistryKeys.userTokens("u-\(token)"), token)
    try await fleet.redis("SET", RegistryKeys.token(entry: token), String(decoding: metadata.json(), as: UTF8.self))
  }

  private func isRegistered(_ token: String) async throws -> Bool {
    try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == 1
  }

  private func isNoted(_ token: String) async throws -> Bool {
    try await fleet.redis("GET", RegistryKeys.token(entry: token)).string?.contains("\"unreachable\":") == true
  }

  private func pushes(of token: String) async throws -> Int {
    try await fleet.gateway.recent().count { $0.token == token }
  }

  /// Returns why a push to the device failed.
  private func reason(_ token: String) async throws -> String? {
    let id = fleet.unique("job")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"u-\#(token)"},"title":"T"}"#, on: queue)
    return try await fleet.record(id).results.first?.reason
  }

  private func expectKept(_ token: String) async throws {
    #expect(try await reason(token) == "BadDeviceToken")
    try await eventually("the note") { try await isNoted(token) }
    #expect(try await reason(token) == "UnreachableHere")
    #expect(try await pushes(of: token) == 1)
    #expect(try await fleet.redis("SISMEMBER", RegistryKeys.userTokens("u-\(token)"), token).integer == 1)
  }

  @Test func `a gateway that was named alone answers for one environment: devices of the other are kept, unsent`()
    async throws
  {
    let worker = try await fleet.worker(["APNS_SANDBOX_ENDPOINT_OVERRIDE": nil], on: queue)
    let production = try await invalid(.production)
    #expect(try await reason(production) == "BadDeviceToken")
    try await eventually("it is removed") { try await !isRegistered(production) }
    let (sandbox, unknown) = (try await invalid(.sandbox), try await invalid(nil))
    for token in [sandbox, unknown] { try await expectKept(token) }

    // Whoever registers again is asked again.
    try await register(unknown, nil, updatedAt: 1_700_000_000_001)
    #expect(try await reason(unknown) == "BadDeviceToken")
    #expect(try await pushes(of: unknown) == 2)
    #expect(try await worker.stop() == 0)

    // So are all when an endpoint changes. This one answers for both environments.
    let other = try await fleet.worker(["APNS_SANDBOX_ENDPOINT_OVERRIDE": fleet.gateway.ready.url], on: queue)
    for token in [sandbox, unknown] {
      #expect(try await reason(token) == "BadDeviceToken")
      try await eventually("it is removed") { try await !isRegistered(token) }
    }
    #expect(try await other.stop() == 0)
  }

  @Test func `a device that may be of an environment for which there is no key is kept, unsent`() async throws {
    let directory = try AppsDirectory()
    let ready = fleet.gateway.ready
    let key = try #require(ready.keyPath)
    try FileManager.default.copyItem(atPath: key, toPath: "\(directory.path)/key.p8")
    try directory.write(fleet.authorities, to: "ca.pem")
    try directory.write(
      apps: #"{"bundleIds":["com.example.demo"],"teamId":"\#(ready.teamId)","caCert":"ca.pem","#
        + #""endpoint":"\#(ready.url)","sandboxEndpoint":"\#(ready.url)","#
        + #""keys":[{"keyId":"\#(ready.keyId)","path":"key.p8","environment":"production"}]}"#)
    let worker = try await fleet.worker(["MARTLET_APPS": directory.file], on: queue)
    try await expectKept(try await invalid(nil))
    let production = try await invalid(.production)
    #expect(try await reason(production) == "BadDeviceToken")
    try await eventually("it is removed") { try await !isRegistered(production) }
    #expect(try await reason(try await invalid(.sandbox)) == "NoKeyForEnvironment")
    #expect(try await worker.stop() == 0)
  }
}
