import EventLoop
import FleetSupport
import Foundation
import HTTPClient
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

/// A fleet whose environments have a simulator each: ``fleet``'s own is production. The worker runs in this process.
final class TwoEnvironments: Sendable {
  static let app = "com.example.demo"

  let fleet: Fleet
  let sandbox: SimulatedGateway

  init() async throws {
    fleet = try await Fleet()
    sandbox = try await SimulatedGateway(["--environment", "sandbox"])
    let key = fleet.gateway.ready
    let path = try #require(key.keyPath)
    try await sandbox.control(
      "/keys", "-d", #"{"keyId":"\#(key.keyId)","teamId":"\#(key.teamId)","path":"\#(path)","topics":[]}"#)
  }

  func gateway(_ environment: PushEnvironment) -> SimulatedGateway {
    environment == .production ? fleet.gateway : sandbox
  }

  /// `sandboxURL`: another gateway than ``sandbox``.
  func configuration(sandboxURL: String? = nil) throws -> APNsConfiguration {
    let key = fleet.gateway.ready
    func text(_ path: String?) throws -> String { try String(contentsOfFile: #require(path), encoding: .utf8) }
    var limits = APNsConfiguration.Limits()
    limits.requestTimeout = patience
    limits.pongTimeout = patience
    return try APNsConfiguration(
      keys: [.init(keyID: key.keyId, teamID: key.teamId, privateKeyPEM: try text(key.keyPath))],
      gateway: .init(
        endpointOverride: key.url, sandboxOverride: sandboxURL ?? sandbox.ready.url,
        authorities: try TrustedCertificates(pem: text(key.caCertificate) + text(sandbox.ready.caCertificate))),
      limits: limits)
  }

  @EventLoop
  func worker(on queue: String, sandboxURL: String? = nil) throws -> WorkerService {
    var configuration = WorkerConfiguration(redis: try RedisEndpoint(url: fleet.redis.url))
    configuration.apns = try self.configuration(sandboxURL: sandboxURL)
    configuration.bundleID = Self.app
    configuration.queues = [queue]
    configuration.classes = TestClasses()
    let service = WorkerService(configuration, log: .silent)
    try service.start()
    return service
  }

  @EventLoop
  func stop(_ service: WorkerService) async {
    await service.stop()
    await service.close()
  }

  /// Writes a device as a registration does. `members` are further JSON members of the metadata.
  func register(_ token: String, to user: String, _ members: String = "") async throws {
    let metadata = #"{"username":"\#(user)","platform":"ios","updatedAt":1700000000000\#(members)}"#
    try await fleet.redis("SADD", RegistryKeys.userTokens(Username(user)), token)
    try await fleet.redis("SET", RegistryKeys.token(entry: token), metadata)
  }

  /// The member `environment` of a device's metadata; nil if the device is gone.
  func device(_ token: String) async throws -> (environment: String?, metadata: JSONValue)? {
    guard let bytes = try await fleet.redis("GET", RegistryKeys.token(entry: token)).bytes else { return nil }
    let metadata = try JSONValue(parsing: bytes)
    return (metadata["environment"]?.string, metadata)
  }

  /// Makes the environments that a token does not belong to refuse it.
  func refuse(_ token: String, in environments: PushEnvironment...) async throws {
    for environment in environments { try await gateway(environment).device(token, #""rule":"bad""#) }
  }

  /// The environments that have got a push of a token, in their order, and its apns-ids.
  func pushes(of token: String) async throws -> (environments: [PushEnvironment], ids: Set<String>) {
    var all: [(PushEnvironment, GatewayLedger.Push)] = []
    for environment in PushEnvironment.allCases {
      all += try await gateway(environment).recent().filter { $0.token == token }.map { (environment, $0) }
    }
    all.sort { $0.1.arrival < $1.1.arrival }
    return (all.map(\.0), Set(all.map(\.1.apnsId)))
  }

  /// Enqueues a job, and returns its record at its end. `members` begin with a comma.
  func deliver(_ to: String, _ members: String = #","title":"T""#, on queue: String) async throws -> JobRecord {
    let id = fleet.unique("job")
    try await fleet.enqueue(#"{"id":"\#(id)","to":\#(to)\#(members)}"#, on: queue)
    return try await fleet.record(id)
  }
}
