import EventLoop
import Redis
import Registry
import Sidecar
import Telemetry
import TestSupport
@testable import Credentials

/// A sidecar on a real socket with a real redis-server, in the process of the tests. All suites share one Redis; every test
/// uses its own users, tokens and keys.
@EventLoop
final class SidecarFixture {
  private static let server = Task { try await RedisServer() }

  let redis: RedisClient
  private(set) var backend: Backend
  let sidecar: Sidecar
  let metrics = Metrics()

  init(
    sender: (any DirectSender)? = nil, _ adapt: (inout SidecarConfiguration) -> Void = { _ in },
    backupImport: BackupImport? = nil, server: RedisServer? = nil,
    maximumDevices: Int = Registry.defaultMaximumDevices, log: Log = .silent
  ) async throws {
    let shared = try await SidecarFixture.server.value
    let url = (server ?? shared).url
    redis = RedisClient(endpoint: try RedisEndpoint(url: url), name: "test", log: .silent)
    redis.start()
    try await redis.ready(within: .seconds(10))
    backend = Backend(connection: redis, maximumDevices: maximumDevices, log: .silent)
    backend.backupImport = backupImport
    var configuration = SidecarConfiguration(address: "127.0.0.1:0")
    adapt(&configuration)
    sidecar = Sidecar(configuration, backend: backend, sender: sender, metrics: metrics, log: log)
    try sidecar.start()
  }

  /// Adds a credential.
  func allow(_ kind: Credential.Kind, _ name: String, secret: String) async throws {
    let credential = Credential(kind: kind, name: name, digest: Credential.digest(of: secret), createdAt: 1)
    _ = try await backend.credentials.add(credential)
  }

  func request(_ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil) async throws
    -> WebAnswer
  {
    try await WebAnswer.ask(port: sidecar.port, method, path, headers, body: body)
  }

  func run(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    var command = RedisCommand(name)
    for word in words { command.append(word) }
    return try await redis.send(command)
  }
}
