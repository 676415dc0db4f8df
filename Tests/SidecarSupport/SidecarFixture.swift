package import EventLoop
import HTTPServer
package import Redis
import RedisSupport
import Registry
package import Sidecar
package import Telemetry
package import TestSupport
@testable package import Credentials

/// A sidecar on a real socket with a real redis-server, in the process of the tests. All suites share one Redis; every test
/// uses its own users, tokens and keys. There the sidecar connects as its user of deploy/redis.
@EventLoop
package final class SidecarFixture {
  private static let server = Task {
    let users = try await RedisUsers()
    return (users: users, server: try await RedisServer(users.arguments))
  }

  /// Of the tests, which may run any command.
  package let redis: RedisClient
  /// Of the tests, too.
  package let backend: Backend
  package let sidecar: Sidecar
  package let metrics = Metrics()

  package init(
    sender: (any DirectSender)? = nil, _ adapt: (inout SidecarConfiguration) -> Void = { _ in },
    backupImport: BackupImport? = nil, server: RedisServer? = nil, log: Log = .silent
  ) async throws {
    let shared = try await SidecarFixture.server.value
    redis = try await RedisClient.connected(to: (server ?? shared.server).url)
    backend = Backend(connection: redis, log: .silent)
    let url = server?.url ?? shared.users.url(of: "martlet-sidecar", on: shared.server)
    var serving = Backend(connection: try await RedisClient.connected(to: url), log: .silent)
    serving.backupImport = backupImport
    var configuration = SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0)))
    adapt(&configuration)
    sidecar = Sidecar(configuration, backend: serving, sender: sender, metrics: metrics, log: log)
    try sidecar.start()
  }

  /// Adds a credential.
  package func allow(_ kind: Credential.Kind, _ name: String, secret: String) async throws {
    let credential = Credential(kind: kind, name: name, digest: Credential.digest(of: secret), createdAt: 1)
    _ = try await backend.credentials.add(credential)
  }

  package func request(_ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil)
    async throws
    -> WebAnswer
  {
    try await WebAnswer.ask(port: sidecar.port, method, path, headers, body: body)
  }

  package func run(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await redis.send(RedisCommand(name, words))
  }
}
