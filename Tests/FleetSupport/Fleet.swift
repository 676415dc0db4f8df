import EventLoop
import Foundation
import Jobs
import PushModel
package import Redis
import RedisSupport
import Registry
import Synchronization
package import TestSupport
@testable package import Queue

/// A redis-server, a simulated gateway and the workers that tests start, all as processes.
///
/// One per suite. Each test uses unique queues, users and tokens, so nothing is flushed between tests.
/// Faults of the gateway affect the whole fleet, so suites that use them are serialized.
package final class Fleet: Sendable {
  package let redis: RedisServer
  package let gateway: SimulatedGateway
  /// That of the sandbox; nil if `gateway` is for both environments.
  package let sandbox: SimulatedGateway?
  /// Of the tests themselves, which may run any command.
  package let connection: RedisClient
  /// The user of Redis as which the programs connect.
  package static let user = "martlet"
  /// REDIS_URL of the programs.
  private let url: String
  /// Keeps the file, which Redis reads again when it is restarted.
  private let users: RedisUsers?
  private static let serial = Atomic<Int>(0)

  /// The programs connect as ``user`` of deploy/redis, here with every key: tests name queues as they like.
  ///
  /// `hasBothEnvironments`: there is a gateway for each.
  package init(
    redisArguments: [String] = [], gatewayArguments: [String] = [], hasBothEnvironments: Bool = false
  ) async throws {
    let users = try await RedisUsers(haveEveryKey: true)
    self.users = users
    redis = try await RedisServer(users.arguments + redisArguments)
    url = users.url(of: Fleet.user, on: redis)
    gateway = try await SimulatedGateway(
      gatewayArguments + (hasBothEnvironments ? ["--environment", "production"] : []))
    sandbox =
      hasBothEnvironments
      ? try await SimulatedGateway(gatewayArguments + gateway.keyArguments + ["--environment", "sandbox"]) : nil
    connection = try await RedisClient.connected(to: redis.url)
  }

  /// A fleet on a server that the test has started. The programs, and the tests if `isForTests`, connect to `url`.
  package init(redis: RedisServer, url: String, isForTests: Bool = false) async throws {
    self.redis = redis
    self.url = url
    users = nil
    gateway = try await SimulatedGateway()
    sandbox = nil
    connection = try await RedisClient.connected(to: isForTests ? url : redis.url)
  }

  /// With a cluster in place of the one server.
  package init(cluster: RedisCluster) async throws {
    redis = try RedisServer(cluster)
    url = redis.url
    users = nil
    gateway = try await SimulatedGateway()
    sandbox = nil
    connection = try await RedisClient.connected(to: url)
  }

  /// Numbers that no program of Martlet writes.
  package static let hostileNumbers = [
    "9223372036854775807", "-9223372036854775808", "-1", "1e308", "281474976710657", "253402300799999",
    "18446744073709551616",
  ]

  // MARK: - Names

  /// A unique word.
  package func unique(_ prefix: String) -> String {
    "\(prefix)-\(Fleet.serial.add(1, ordering: .relaxed).newValue)"
  }

  /// A unique well-formed device token.
  package func uniqueToken() -> String {
    String(format: "%064x", 0xfee_d000_0000 + Fleet.serial.add(1, ordering: .relaxed).newValue)
  }

  package func uniqueTokens(_ count: Int) -> [String] { (0..<count).map { _ in uniqueToken() } }

  // MARK: - Workers

  /// The environment of a process of this fleet. A nil value removes a setting.
  package func environment(_ changes: [String: String?] = [:], isPollingOnly: Bool = false) -> [String: String] {
    var values = isPollingOnly ? [:] : gateway.environment
    // A simulator that is for both environments is named for both.
    if sandbox == nil, !isPollingOnly {
      values["APNS_SANDBOX_ENDPOINT_OVERRIDE"] = changes["APNS_ENDPOINT_OVERRIDE"] ?? gateway.ready.url
    }
    if let sandbox, !isPollingOnly {
      values["APNS_SANDBOX_ENDPOINT_OVERRIDE"] = sandbox.ready.url
      values["APNS_CA_CERT"] = authorities
    }
    values["REDIS_URL"] = url
    values["MARTLET_ADMIN_ADDRESS"] = "127.0.0.1:0"
    values["MARTLET_DASHBOARD_ADDRESS"] = "127.0.0.1:0"
    values["MARTLET_LOG"] = "debug"
    // A test must not depend on the hour at which it runs.
    #if PART_POLICIES
      values["MARTLET_QUIET_HOURS"] = "off"
    #endif
    // On a slow machine, too, a worker finishes its jobs.
    values["MARTLET_SHUTDOWN_GRACE"] = "2m"
    for (name, value) in changes { values[name] = value }
    return values
  }

  /// The authorities of all gateways, as PEM text.
  package var authorities: String {
    [gateway, sandbox].compactMap { $0?.ready.caCertificate }
      .compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }.joined(separator: "\n")
  }

  /// Starts a worker on a unique queue, on `queue` or on the queues of `changes`, and waits until it is ready.
  ///
  /// `arguments` follow the name of the command.
  package func worker(
    _ changes: [String: String?] = [:], on queue: String? = nil, isPollingOnly: Bool = false, isReady: Bool = true,
    arguments: [String] = []
  ) async throws -> FleetWorker {
    let queues = changes["MARTLET_QUEUES"] ?? queue ?? unique("jobs")
    let all = changes.merging(["MARTLET_QUEUES": queues]) { given, _ in given }
    let first = String(queues?.split(separator: ",").first ?? "push:jobs")
    let worker = try await FleetWorker(
      arguments, environment: environment(all, isPollingOnly: isPollingOnly), queue: first)
    if isReady { try await worker.ready() }
    return worker
  }

  /// Runs a command of `martlet` and waits for its end.
  package func martlet(
    _ arguments: String..., environment changes: [String: String?] = [:], input: String = ""
  ) async throws -> ChildProcess {
    try await martlet(arguments, environment: changes, input: input)
  }

  package func martlet(
    _ arguments: [String], environment changes: [String: String?] = [:], input: String = ""
  ) async throws -> ChildProcess {
    let child = try ChildProcess(
      try builtProduct("martlet"), arguments, environment: environment(changes), input: input)
    try await child.exit()
    return child
  }

  // MARK: - Devices

  /// Writes a device as a registration does. `members` are further JSON members of the metadata.
  package func register(
    _ tokens: [String], to user: String, platform: String = "ios", updatedAt: Int64 = 1_700_000_000_000,
    bundleID: String? = nil
  ) async throws {
    let bundle = bundleID.map { #","bundleId":"\#($0)""# } ?? ""
    let metadata = #"{"username":"\#(user)","platform":"\#(platform)","updatedAt":\#(updatedAt)\#(bundle)}"#
    try await pipelined(tokens) { token in
      var commands = [
        RedisCommand("SADD", RegistryKeys.userTokens(Username(user)), token),
        RedisCommand("SET", RegistryKeys.token(entry: token), metadata),
      ]
      if let bundleID {
        commands.append(
          RedisCommand("ZADD", RegistryKeys.audience(bundleID, shard: AudienceShard.shard(of: token)), "0", token))
      }
      return commands
    }
  }

  package func register(_ token: String, to user: String, updatedAt: Int64 = 1_700_000_000_000) async throws {
    try await register([token], to: user, updatedAt: updatedAt)
  }

  // MARK: - Jobs

  package func enqueue(_ jobs: String..., on queue: String) async throws {
    try await enqueue(jobs.map { Array($0.utf8) }, on: queue)
  }

  /// Enqueues jobs in bulk. The first one is claimed first.
  package func enqueue(_ jobs: [[UInt8]], on queue: String) async throws {
    try await pipelined(jobs) { [RedisCommand("LPUSH", queue).with($0)] }
  }

  /// Enqueues a job with an envelope, as the fleet does.
  package func enqueue(_ envelope: Envelope, on queue: String) async throws {
    let key = QueueKeys(queue: queue).seal
    try await redis("SET", key, "s3al", "NX")
    let seal = try await redis("GET", key).string ?? ""
    try await enqueue([Array("MARTLET \(seal) ".utf8) + envelope.element], on: queue)
  }

  /// The waiting jobs of a queue without envelopes, the next one last.
  package func waiting(on queue: String) async throws -> [[UInt8]] {
    let seal = try await redis("GET", QueueKeys(queue: queue).seal).string ?? ""
    let prefix = Array("MARTLET \(seal) ".utf8)
    let elements = (try await redis("LRANGE", queue, "0", "-1").array ?? []).compactMap(\.bytes)
    return elements.map { $0.starts(with: prefix) ? Envelope(element: Array($0.dropFirst(prefix.count))).job : $0 }
  }

  /// Runs a command of the tests.
  @discardableResult
  package func redis(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await connection.send(RedisCommand(name, words))
  }

  /// Sends commands, a few thousand in flight at once, and throws the first error.
  package func pipelined<Item: Sendable>(_ items: [Item], _ commands: @Sendable (Item) -> [RedisCommand]) async throws {
    for start in stride(from: 0, to: items.count, by: 2000) {
      let batch = items[start..<min(start + 2000, items.count)].flatMap(commands)
      try await exchange(batch)
    }
  }

  @EventLoop
  private func exchange(_ commands: [RedisCommand]) async throws {
    guard let last = commands.last else { return }
    var failure: RedisError?
    for command in commands.dropLast() {
      connection.send(command) { result in
        if case .failure(let error) = result { failure = failure ?? error }
      }
    }
    // Replies arrive in order, so the last one is behind all others.
    _ = try await connection.send(last)
    if let failure { throw failure }
  }
}
