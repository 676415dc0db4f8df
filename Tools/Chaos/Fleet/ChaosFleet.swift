import EventLoop
import FoundationEssentials
import Redis
import Telemetry
import TestSupport

/// Redis with its replicas, a simulated APNs for each environment, a sidecar, and workers behind fault proxies.
@EventLoop
final class ChaosFleet {
  let directory: TemporaryDirectory
  let redis: any RedisServers
  /// Of production, where the faults are.
  let gateway: SimulatedGateway
  let sandbox: SimulatedGateway
  let sidecar: SidecarClient
  let connection: RedisClient
  let seats: [Seat]
  let clock: FakeClock
  let base: [String: String]
  /// The worker behind each port from which a gateway sees a connection.
  private(set) var connections: [Int: [(since: UInt64, worker: Int)]] = [:]

  init(workers: Int, layout: RedisLayout, population: Population) async throws {
    let directory = try TemporaryDirectory()
    let redis = try await ChaosFleet.redis(layout, population, directory)
    let (gateway, sandbox) = try await ChaosFleet.gateways(journals: ChaosFleet.journals(in: directory))
    var base = gateway.environment
    base["APNS_SANDBOX_ENDPOINT_OVERRIDE"] = sandbox.ready.url
    base["APNS_CA_CERT"] = try [gateway, sandbox]
      .map { try String(contentsOfFile: $0.ready.caCertificate, encoding: .utf8) }.joined(separator: "\n")
    base["REDIS_URL"] = redis.url
    base["MARTLET_QUEUES"] = Producer.queues.joined(separator: ",")
    base["MARTLET_ADMIN_ADDRESS"] = "off"
    base["MARTLET_CONCURRENCY"] = "64"
    base["MARTLET_MAX_ATTEMPTS"] = "20"
    self.base = base
    clock = try FakeClock(directory: directory.path)
    (self.directory, self.redis, self.gateway, self.sandbox) = (directory, redis, gateway, sandbox)
    connection = RedisClient(
      endpoint: try RedisEndpoint(url: redis.url, caCertificatePEM: nil), name: "chaos", log: .silent)
    connection.start()
    try await connection.ready(within: patience)
    sidecar = try await SidecarClient(environment: base)
    var seats: [Seat] = []
    for number in 0..<workers {
      // The last worker finds Redis through the sentinels.
      let hasProxy = redis.masterPort != nil && (number < workers - 1 || workers == 1)
      let toRedis = hasProxy ? try FaultProxy { redis.masterPort ?? 0 } : nil
      let toAPNs = try FaultProxy { gateway.ready.port }
      let toSandbox = try FaultProxy { sandbox.ready.port }
      var environment = base
      if let toRedis { environment["REDIS_URL"] = "redis://127.0.0.1:\(toRedis.port)" }
      environment["APNS_ENDPOINT_OVERRIDE"] = "https://127.0.0.1:\(toAPNs.port)"
      environment["APNS_SANDBOX_ENDPOINT_OVERRIDE"] = "https://127.0.0.1:\(toSandbox.port)"
      seats.append(
        try Seat(
          number, redis: toRedis, apns: toAPNs, sandbox: toSandbox, clock: number == Plan.clockWorker ? clock : nil,
          environment: environment))
    }
    self.seats = seats
    for seat in seats {
      for (gateway, proxy) in [seat.apns, seat.sandbox].enumerated() {
        proxy.onConnect = { [unowned self, number = seat.number] port in
          connections[LedgerPush.client(port, at: gateway), default: []].append((Clock.unixNanoseconds, number))
        }
      }
    }
  }

  private static func redis(
    _ layout: RedisLayout, _ population: Population, _ directory: TemporaryDirectory
  ) async throws -> any RedisServers {
    switch layout {
    case .sentinels: try await RedisGroup(directory: directory.path)
    case .cluster: try await ClusterGroup(queues: Producer.queues, deviceKeys: population.keys)
    }
  }

  /// The second one accepts the provider key of the first.
  private static func gateways(
    journals: [String]
  ) async throws -> (production: SimulatedGateway, sandbox: SimulatedGateway) {
    let production = try await SimulatedGateway(["--environment", "production", "--journal", journals[0]])
    let sandbox = try await SimulatedGateway(
      production.keyArguments + ["--environment", "sandbox", "--journal", journals[1]])
    return (production, sandbox)
  }

  /// Production is the first.
  var gateways: [SimulatedGateway] { [gateway, sandbox] }

  /// Of the gateways, in their order.
  var journals: [String] { ChaosFleet.journals(in: directory) }

  private static func journals(in directory: TemporaryDirectory) -> [String] {
    ["journal", "journal-sandbox"].map { "\(directory.path)/\($0)" }
  }

  /// Registers everybody.
  func populate(_ population: Population) async throws {
    for user in population.allUsers { try await sidecar.add(user: user) }
    for (name, devices) in population.users {
      for device in devices {
        guard await sidecar.register(device, to: name, phone: Population.phone(of: device)) == 200 else {
          throw ChaosError("cannot register \(device) of \(name)")
        }
      }
    }
    for device in population.audience {
      guard await sidecar.add(device, to: Population.broadcastApp) == 200 else {
        throw ChaosError("cannot add \(device)")
      }
    }
  }

  /// The journals of the gateways, in the order of arrival.
  func pushes() throws -> [LedgerPush] {
    try journals.enumerated().flatMap { number, journal in
      let text = try Data(contentsOf: URL(fileURLWithPath: journal))
      return text.split(separator: UInt8(ascii: "\n")).compactMap { LedgerPush(parsing: Array($0), at: number) }
    }.sorted { $0.arrival < $1.arrival }
  }

  /// The logs of all processes, by name.
  var logs: [(name: String, lines: [String])] {
    seats.map { ("worker-\($0.number)", $0.lines) } + redis.logs
      + [
        ("sidecar", sidecar.lines), ("simulator", gateway.process.lines), ("simulator-sandbox", sandbox.process.lines),
      ]
  }

  /// Runs a command of `martlet`.
  func martlet(_ words: String...) async throws -> String {
    try await ChildProcess.run(try builtProduct("martlet"), words, environment: base)
  }
}
