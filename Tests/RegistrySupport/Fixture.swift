package import EventLoop
import Events
package import JSON
package import PushModel
package import Redis
import RedisSupport
package import Registry
package import Telemetry
package import TestSupport

/// A registry on a real redis-server, or a cluster, that all suites share; every test has its own users and apps.
@EventLoop
package struct Fixture {
  private static let server = Task { try await RedisServer() }
  private static let steppedServer = Task { try await RedisServer() }
  private static let cluster = Task { try await RedisCluster(replicas: 0) }

  package let redis: RedisClient
  package let registry: Registry
  package let metrics: Metrics

  /// `server` is a separate server, for tests that keep redis busy. The way is that of the test; see ``Way``.
  package init(
    maximumDevices: Int = Registry.defaultMaximumDevices, server: RedisServer? = nil, writesEvents: Bool = false,
    log: Log = .silent
  ) async throws {
    let url: String
    switch Way.current {
    case _ where server != nil: url = server?.url ?? ""
    case .atomic: url = try await Fixture.server.value.url
    case .stepwise: url = try await Fixture.steppedServer.value.url
    case .cluster: url = try await Fixture.cluster.value.url
    }
    redis = try await RedisClient.connected(to: url)
    metrics = Metrics()
    registry = Registry(
      connection: redis, maximumDevices: maximumDevices, isStepwise: Way.current != .atomic,
      events: writesEvents ? EventLog(connection: redis, metrics: EventMetrics(metrics), log: log) : nil, log: log)
  }

  /// Makes a well-formed token from a name.
  package func token(_ name: String) -> String {
    "token-\(name)-0123456789abcdef"
  }

  package func run(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await redis.send(RedisCommand(name, words))
  }

  package func members(_ user: Username) async throws -> Set<String> {
    Set(try await run("SMEMBERS", RegistryKeys.userTokens(user)).array?.compactMap(\.string) ?? [])
  }

  package func metadata(_ token: String) async throws -> DeviceMetadata? {
    try await run("GET", RegistryKeys.token(entry: token)).bytes.flatMap(DeviceMetadata.init(parsing:))
  }

  package func audience(_ app: String, of token: String) async throws -> Bool {
    let key = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token))
    return try await run("ZSCORE", key, token) != .null
  }

  /// The events about a token, in the order of the stream.
  package func events(of token: String) async throws -> [JSONValue] {
    try await run("XRANGE", EventStream.key, "-", "+").array?.compactMap { entry in
      guard let bytes = entry.array?.last?.array?.last?.bytes else { return nil }
      let event = try JSONValue(parsing: bytes)
      return event["data"]?["token"]?.string == token ? event : nil
    } ?? []
  }

  package func resolve(_ queries: [DeviceQuery]) async -> [Resolution] {
    await withCheckedContinuation { continuation in
      registry.resolve(queries) { continuation.resume(returning: $0) }
    }
  }

  package func clean(user: Username, _ removals: [Removal]) async throws -> Int {
    try await withCheckedContinuation { continuation in
      registry.clean(user: user, removals) { continuation.resume(returning: $0) }
    }.get()
  }

  package func clean(app: String, _ removals: [Removal]) async throws -> Int {
    try await withCheckedContinuation { continuation in
      registry.clean(app: app, removals) { continuation.resume(returning: $0) }
    }.get()
  }

  package func removeStale(_ devices: StaleDevice...) async throws -> Int {
    try await withCheckedContinuation { continuation in
      registry.removeStale(devices) { continuation.resume(returning: $0) }
    }.get()
  }

  package func register(_ token: String, _ user: Username, app: String? = nil, now: Int64 = 1000) async throws
    -> Username?
  {
    try await registry.register(
      Registration(token: DeviceToken(token), username: user, platform: .ios, bundleID: app, now: now)
    ).previousOwner
  }
}
