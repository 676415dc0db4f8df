import Foundation
public import Glibc

/// A real Redis Cluster: three primaries, each with a replica. Every server has a directory of its own.
///
/// One per suite, as ``RedisServer``. The servers end with the test process.
public final class RedisCluster: Sendable {
  public let nodes: [RedisClusterNode]

  /// After this long without an answer a server counts as failed and its replica takes over. Without replicas none can: a server that
  /// waits for a processor must not count as failed.
  private static func nodeTimeoutMilliseconds(replicas: Int) -> Int { replicas > 0 ? 2000 : 30_000 }

  /// `arguments` are each redis-server's own, after the defaults.
  public init(primaries: Int = 3, replicas: Int = 1, _ arguments: [String] = []) async throws {
    let common = ["--cluster-node-timeout", "\(RedisCluster.nodeTimeoutMilliseconds(replicas: replicas))"] + arguments
    nodes = try (0..<primaries * (1 + replicas)).map { _ in try RedisClusterNode(common) }
    for node in nodes { try await node.awaitPong() }
    try await RedisCluster.join(nodes, primaries: primaries)
    try await awaitHealth(replicas: replicas)
  }

  /// Gives the primaries equal shares of the slots, introduces all servers to each other, and makes the others replicas.
  private static func join(_ nodes: [RedisClusterNode], primaries: Int) async throws {
    let slots = 16_384
    for (place, node) in nodes.enumerated() {
      try await node.redisCLI(["CLUSTER", "SET-CONFIG-EPOCH", "\(place + 1)"])
      guard place < primaries else { continue }
      let (first, next) = (place * slots / primaries, (place + 1) * slots / primaries)
      try await node.redisCLI(["CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(next - 1)"])
    }
    for node in nodes.dropFirst() { try await node.meet(nodes[0]) }
    for (place, node) in nodes.enumerated().dropFirst(primaries) {
      let id = try await nodes[place % primaries].id()
      try await eventually("a replica knows its primary") {
        try await node.redisCLI(["CLUSTER", "REPLICATE", id]) == "OK"
      }
    }
  }

  /// For REDIS_URL. Names only the first two servers: the others have to be found.
  public var url: String { "redis+cluster://" + nodes.prefix(2).map(\.address).joined(separator: ",") }

  /// What redis-cli prints for a command, which follows redirections.
  @discardableResult
  public func redisCLI(_ words: String...) async throws -> String { try await redisCLI(words) }

  @discardableResult
  public func redisCLI(_ words: [String]) async throws -> String {
    guard let node = nodes.first(where: \.isRunning) else { throw TestTimeout("no server of the cluster runs") }
    return try await node.redisCLI(["-c"] + words)
  }

  /// Ends all servers and removes their directories.
  public func stop() async throws {
    for node in nodes { try await node.stop() }
  }

  // MARK: - Slots

  /// The hash slot of a key, as Redis computes it.
  public func slot(of key: String) async throws -> Int {
    Int(try await redisCLI("CLUSTER", "KEYSLOT", key)) ?? 0
  }

  /// The server that has a slot, as the servers that run agree on.
  public func primary(ofSlot slot: Int) async throws -> RedisClusterNode {
    var found: RedisClusterNode?
    try await eventually("one running server has slot \(slot)") {
      found = nil
      for node in nodes where node.isRunning {
        let owners = try await node.primaries(ofSlot: slot)
        guard let owner = nodes.first(where: { owners == [$0.port] && $0.isRunning }), found == nil || found === owner
        else { return false }
        found = owner
      }
      return found != nil
    }
    guard let found else { throw TestTimeout("no server has slot \(slot)") }
    return found
  }

  public func primary(of key: String) async throws -> RedisClusterNode {
    try await primary(ofSlot: try await slot(of: key))
  }

  /// Moves a slot with its keys to another primary, as `redis-cli --cluster reshard` does.
  ///
  /// `midway` is called while a `part` of the keys has moved, 0 to 1; none if half of them would be less than one.
  public nonisolated(nonsending) func move(
    slot: Int, to target: RedisClusterNode, part: Double = 0.5,
    midway: nonisolated(nonsending) () async throws -> Void = {}
  ) async throws {
    let source = try await primary(ofSlot: slot)
    guard source !== target else { return }
    let (from, to) = (try await source.id(), try await target.id())
    try await target.redisCLI(["CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", from])
    try await source.redisCLI(["CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", to])
    let count = Int(try await source.redisCLI(["CLUSTER", "COUNTKEYSINSLOT", "\(slot)"])) ?? 0
    try await moveKeys(of: slot, from: source, to: target, upTo: Int(Double(count) * part))
    try await midway()
    try await moveKeys(of: slot, from: source, to: target, upTo: .max)
    for node in [target, source] { try await node.redisCLI(["CLUSTER", "SETSLOT", "\(slot)", "NODE", to]) }
    for node in nodes where node.isRunning {
      _ = try? await node.redisCLI(["CLUSTER", "SETSLOT", "\(slot)", "NODE", to])
    }
    _ = try await primary(ofSlot: slot)
  }

  private func moveKeys(
    of slot: Int, from source: RedisClusterNode, to target: RedisClusterNode, upTo most: Int
  ) async throws {
    var left = most
    while left > 0 {
      let batch = ["CLUSTER", "GETKEYSINSLOT", "\(slot)", "\(min(left, 100))"]
      let keys = try await source.redisCLI(batch).split(separator: "\n").map(String.init)
      guard !keys.isEmpty else { return }
      // A key may expire or be deleted meanwhile: NOKEY.
      try await source.redisCLI(["MIGRATE", "127.0.0.1", "\(target.port)", "", "0", "10000", "REPLACE", "KEYS"] + keys)
      left -= keys.count
    }
  }

  /// Waits until every server that runs sees the whole cluster, each slot at a primary with `replicas` in step.
  /// Calls `mend` before each look.
  public func awaitHealth(replicas: Int = 0, mending mend: @Sendable () async throws -> Void = {}) async throws {
    try await eventually("the cluster is healthy") {
      try await mend()
      for node in nodes where node.isRunning {
        let info = try await node.redisCLI(["CLUSTER", "INFO"])
        guard info.contains("cluster_state:ok"), info.contains("cluster_slots_ok:16384") else { return false }
        let replication = try await node.redisCLI(["INFO", "replication"])
        let isPrimary = replication.contains("role:master")
        if isPrimary, try await node.hasSlots(), !replication.contains("connected_slaves:\(replicas)"), replicas > 0 {
          return false
        }
        if !isPrimary, !replication.contains("master_link_status:up") { return false }
      }
      return true
    }
  }
}

/// A server of a ``RedisCluster``.
public final class RedisClusterNode: Sendable {
  /// Redis 6.2 cannot choose the port of the cluster's bus: Debian's Redis stands in for it.
  private static let program = RedisServer.program.hasSuffix("redis-6.2") ? "redis-server" : RedisServer.program

  public let port: Int
  fileprivate let busPort: Int
  private let directory: TemporaryDirectory
  private let arguments: [String]
  private let child: Locked<ChildProcess>
  /// What earlier processes have logged.
  private let log = Locked<[String]>([])

  init(_ arguments: [String]) throws {
    directory = try TemporaryDirectory()
    port = try freePort()
    busPort = try freePort()
    self.arguments =
      [
        "--port", "\(port)", "--bind", "127.0.0.1", "--dir", directory.path, "--save", "", "--appendonly", "no",
        "--daemonize", "no", "--cluster-enabled", "yes", "--cluster-port", "\(busPort)",
        "--cluster-config-file", "nodes.conf", "--repl-diskless-sync-delay", "0",
      ] + arguments
    child = Locked(try ChildProcess(RedisClusterNode.program, self.arguments))
  }

  public var address: String { "127.0.0.1:\(port)" }
  public var isRunning: Bool { child.withLock(\.isRunning) }
  public var pid: pid_t { child.withLock(\.pid) }
  public var lines: [String] { log.withLock { $0 } + child.withLock(\.lines) }

  @discardableResult
  public func redisCLI(_ words: [String]) async throws -> String {
    try await ChildProcess.run("redis-cli", ["-p", "\(port)", "--raw"] + words)
  }

  /// Sends a signal; after one that ends a process (KILL, TERM, INT) waits until it has ended. The directory stays.
  public func kill(_ signal: Int32 = SIGKILL) async throws {
    let child = child.withLock { $0 }
    child.signal(signal)
    if [SIGKILL, SIGTERM, SIGINT].contains(signal) { try await child.exit() }
  }

  /// Starts it again on the same directory and port; ends it before if it runs.
  public func restart() async throws {
    if isRunning { try await kill(SIGKILL) }
    log.withLock { $0 += child.withLock(\.lines) }
    let fresh = try ChildProcess(RedisClusterNode.program, arguments)
    child.withLock { $0 = fresh }
    try await awaitPong()
  }

  func stop() async throws {
    if isRunning { try await kill(SIGKILL) }
    directory.remove()
  }

  func awaitPong() async throws {
    let child = child.withLock { $0 }
    try await eventually("a server of the cluster answers PING") {
      guard child.isRunning else { throw TestTimeout("redis-server ended:\n\(child.lines.joined(separator: "\n"))") }
      return (try? await redisCLI(["PING"])) == "PONG"
    }
  }

  func meet(_ other: RedisClusterNode) async throws {
    try await redisCLI(["CLUSTER", "MEET", "127.0.0.1", "\(other.port)", "\(other.busPort)"])
  }

  /// Waits until a replica has everything that was written so far.
  public func waitForReplica() async throws {
    let written = try await offset("master_repl_offset:")
    try await eventually("a replica of \(address) has what was written") { try await offset("offset=") >= written }
  }

  /// A number of INFO, after `name`; 0 if it is absent.
  private func offset(_ name: String) async throws -> Int {
    let info = try await redisCLI(["INFO", "replication"])
    guard let found = info.range(of: name) else { return 0 }
    return Int(info[found.upperBound...].prefix { $0.isNumber }) ?? 0
  }

  /// Its id in the cluster.
  public func id() async throws -> String { try await redisCLI(["CLUSTER", "MYID"]) }

  func hasSlots() async throws -> Bool {
    try await redisCLI(["CLUSTER", "NODES"]).split(separator: "\n")
      .contains { line in line.contains("myself,master") && line.split(separator: " ").count > 8 }
  }

  /// The ports of the primaries that have a slot, as this server sees it.
  fileprivate func primaries(ofSlot slot: Int) async throws -> [Int] {
    try await redisCLI(["CLUSTER", "NODES"]).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count > 8 else { return nil }
      let flags = words[2].split(separator: ",")
      guard flags.contains("master"), !flags.contains("fail"), !flags.contains("fail?") else { return nil }
      let has = words[8...].contains { range in
        let ends = range.split(separator: "-").compactMap { Int($0) }
        return !range.hasPrefix("[") && ends.first.map { $0 <= slot && slot <= ends.last ?? $0 } == true
      }
      guard has, let port = words[1].split(separator: "@").first?.split(separator: ":").last.flatMap({ Int($0) }) else {
        return nil
      }
      return port
    }
  }
}
