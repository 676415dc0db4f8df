import FleetSupport
import Foundation
import PushModel
import Redis
import Registry
import Testing
import TestSupport

/// Jobs with every wrong combination of app, push type, environment and key, at devices of which the gateways know what they
/// are. Apple's answers to a wrong push say nothing about a device.
@Suite(.serialized) struct WrongCombinationTests {
  private static let devices = 1_000
  private static let devicesPerUser = 2
  /// More than one at once, so that answers to one device meet each other.
  private static let jobsPerDevice = 6
  private static let rounds = 20
  private static let keys = ["PRODKEY001", "SANDKEY001"]

  private let fleet: Fleet
  private let directory: AppsDirectory

  init() async throws {
    fleet = try await Fleet(hasBothEnvironments: true)
    directory = try AppsDirectory()
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `no device that APNs would accept under its own topic is removed, and every dead one is`(seed: UInt64)
    async throws
  {
    let sandbox = try #require(fleet.sandbox)
    var generator = SeededGenerator(seed: seed)
    let population = (0..<Self.devices).map { number in
      TrueDevice(fleet.uniqueToken(), of: "owner-\(number / Self.devicesPerUser)-\(seed)", using: &generator)
    }
    try await tellGateways(population, sandbox)
    try await register(population)
    let settings = try await apps(sandbox)
    let queue = fleet.unique("wrong")
    let workers = [try await fleet.worker(settings, on: queue), try await fleet.worker(settings, on: queue)]

    let wrong = population.flatMap { device in
      (0..<Self.jobsPerDevice).map { _ in WrongJob(to: device, using: &generator).json }
    }
    try await fleet.enqueue(wrong.shuffled(using: &generator), on: queue)
    try await fleet.settled(queue)
    try await expectNoneMissing(population, "after the wrong jobs")

    // Without wrong jobs the routes are trusted again, and what is dead is found.
    for _ in 0..<Self.rounds where try await !left(population).isEmpty {
      try await fleet.enqueue(population.map(\.rightJob), on: queue)
      try await fleet.settled(queue)
    }
    #expect(try await left(population).map(\.token) == [], "dead devices that are still registered")
    try await expectNoneMissing(population, "after the right jobs")

    // Both gateways have seen what the test is about.
    for gateway in [fleet.gateway, sandbox] {
      let reasons = try await gateway.ledger().byReason
      for reason in ["BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered"] {
        #expect(reasons[reason, default: 0] > 0, "\(reason): \(reasons)")
      }
    }
    #expect(try await sandbox.ledger().byReason["BadEnvironmentKeyIdInToken", default: 0] > 0)
    for worker in workers { #expect(try await worker.stop() == 0) }
  }

  // MARK: - State

  private func tellGateways(_ population: [TrueDevice], _ sandbox: SimulatedGateway) async throws {
    for (gateway, environment) in [(fleet.gateway, PushEnvironment.production), (sandbox, .sandbox)] {
      try await gateway.reset()
      try await gateway.bind(population.filter { $0.life != .unknown }.map(\.binding))
      try await gateway.devices(population.filter { $0.life == .unknown }.map(\.token), #""rule":"bad""#)
      let gone = population.filter { $0.life == .unregistered && $0.environment == environment }
      try await gateway.devices(gone.map(\.token), #""rule":"unregistered""#)
    }
  }

  /// As registrations write them: the kind and the app are the device's own, the environment is absent, right or wrong.
  private func register(_ population: [TrueDevice]) async throws {
    try await fleet.pipelined(population) { device in
      let shard = AudienceShard.shard(of: device.token)
      return [
        RedisCommand("SADD", RegistryKeys.userTokens(Username(device.user)), device.token),
        RedisCommand("SET", RegistryKeys.token(entry: device.token)).with(device.metadata.json()),
        RedisCommand("ZADD", RegistryKeys.audience(device.bundleID, shard: shard), "0", device.token),
      ]
    }
  }

  /// A second app with a key for each environment, neither of which says so: the wrong one is tried first in the sandbox.
  private func apps(_ sandbox: SimulatedGateway) async throws -> [String: String?] {
    for (key, environment) in zip(Self.keys, ["production", "sandbox"]) {
      try await directory.makeKey("\(key).p8")
      for gateway in [fleet.gateway, sandbox] {
        let members = #""keyId":"\#(key)","teamId":"TEAMBBBBB1","path":"\#(directory.path)/\#(key).p8""#
        try await gateway.control("/keys", "-d", #"{\#(members),"environment":"\#(environment)"}"#)
      }
    }
    try directory.write(fleet.authorities, to: "ca.pem")
    let keys = Self.keys.map { #"{"keyId":"\#($0)","path":"\#($0).p8"}"# }.joined(separator: ",")
    try directory.write(
      apps: #"{"bundleIds":["\#(TrueDevice.apps[1])"],"teamId":"TEAMBBBBB1","keys":[\#(keys)],"caCert":"ca.pem","#
        + #""endpoint":"\#(fleet.gateway.ready.url)","sandboxEndpoint":"\#(sandbox.ready.url)"}"#)
    return ["MARTLET_APPS": directory.file]
  }

  // MARK: - Judgement

  private func expectNoneMissing(_ population: [TrueDevice], _ time: Comment) async throws {
    var missing: [String] = []
    for device in population where device.life == .live {
      let isOwned =
        try await fleet.redis("SISMEMBER", RegistryKeys.userTokens(Username(device.user)), device.token).integer == 1
      if try await !isRegistered(device) || !isOwned { missing.append("\(device)") }
    }
    #expect(missing == [], time)
  }

  /// The dead devices that are still registered.
  private func left(_ population: [TrueDevice]) async throws -> [TrueDevice] {
    var left: [TrueDevice] = []
    for device in population where device.life != .live {
      if try await isRegistered(device) { left.append(device) }
    }
    return left
  }

  private func isRegistered(_ device: TrueDevice) async throws -> Bool {
    try await fleet.redis("EXISTS", RegistryKeys.token(entry: device.token)).integer == 1
  }
}
