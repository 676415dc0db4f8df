import EventLoop
import Glibc
import Telemetry
import TestSupport
import Testing
@testable import Redis
import RedisSupport

/// A client of a real cluster of three primaries with a replica each.
@EventLoop
@Suite(.serialized)
struct ClusterClientTests {
  private static let cluster = Task { try await RedisCluster() }
  private static let append = RedisScript(
    keys: ["list", "count"],
    "local n = redis.call('LLEN', list) redis.call('RPUSH', list, n) redis.call('INCR', count) return n")

  private func connected(_ cluster: RedisCluster, log: Log = .silent) async throws -> RedisClient {
    try await RedisClient.connected(to: cluster.url, [ClusterClientTests.append], log: log)
  }

  @Test func `each key is reached at its own server, and MGET keeps its order`() async throws {
    let client = try await connected(try await ClusterClientTests.cluster.value)
    #expect(client.serverCount == 3)
    var command = RedisCommand("MGET")
    for number in 0..<200 {
      let key = "key:\(number)"
      #expect(try await client.send(RedisCommand("SET", key, "\(number)")) == .status("OK"))
      command.append(key)
    }
    command.append("key:absent")
    let values = try await client.send(command).array ?? []
    #expect(values.map(\.string) == (0..<200).map { "\($0)" } + [nil])
    var count = 0
    for server in 0..<client.serverCount {
      count += Int(try await client.send(RedisCommand("DBSIZE"), toServer: server).integer ?? 0)
    }
    #expect(count >= 200)
  }

  @Test func `a slot that moves under load loses no command and keeps the order`() async throws {
    let cluster = try await ClusterClientTests.cluster.value
    let client = try await connected(cluster)
    let slot = HashSlot.of("{moving}")
    let source = try await cluster.primary(ofSlot: slot)
    let other = try #require(
      await cluster.primary(ofSlot: slot < 8192 ? HashSlot.count - 1 : 0), "the other server")
    let stream = CommandStream(client) { client, _, completion in
      client.send(ClusterClientTests.append.call(keys: "{moving}:list", "{moving}:count"), completion)
    }
    for target in [other, source, other] {
      try await stream.advance(by: 50)
      // Meanwhile one key is here and one is there: nothing is carried out.
      try await cluster.move(slot: slot, to: target)
      try await stream.advance(by: 50)
    }
    await stream.end()
    #expect(stream.failures.isEmpty)
    #expect(stream.replies == (0..<stream.replies.count).map { .integer(Int64($0)) }, "in the order of their execution")
    #expect(try await client.send(RedisCommand("LLEN", "{moving}:list")).integer == Int64(stream.replies.count))
    #expect(client.topologyChanges >= 3)
  }

  @Test func `a blocked connection follows its key`() async throws {
    let cluster = try await ClusterClientTests.cluster.value
    let endpoint = try RedisEndpoint(url: cluster.url)
    let blocked = RedisConnection(endpoint: endpoint, key: "{pinned}", name: "test", timeout: patience, log: .silent)
    blocked.start()
    try await blocked.ready(within: patience)
    let slot = HashSlot.of("{pinned}")
    let source = try await cluster.primary(ofSlot: slot)
    let target = try await cluster.primary(ofSlot: slot < 8192 ? HashSlot.count - 1 : 0)
    let waiting = Task { try await blocked.send(RedisCommand("BLPOP", "{pinned}", "0"), timeout: patience) }
    try await eventually("the client is blocked") {
      try await source.redisCLI(["CLIENT", "LIST"]).contains("cmd=blpop")
    }
    try await cluster.move(slot: slot, to: target)
    await #expect(throws: RedisError.self) { try await waiting.value }
    try await eventually("the connection has followed") {
      (try? await blocked.send(RedisCommand("RPUSH", "{pinned}", "1"))) != nil
    }
    try await cluster.move(slot: slot, to: source)
  }

  @Test func `when a primary is killed its replica takes over, and the client goes on`() async throws {
    let cluster = try await RedisCluster()
    let log = LogLines()
    let client = try await connected(cluster, log: log.log(level: .info))
    client.require(["{here}"])
    var states: [Bool] = []
    client.onStateChange = { states.append($0) }
    let victim = try await cluster.primary(of: "{here}")
    let stream = CommandStream(client) { client, number, completion in
      client.send(RedisCommand("SET", "{here}:\(number)", "\(number)"), completion)
    }
    try await stream.advance(by: 50)
    try await victim.kill()
    try await eventually("the client has noticed") { states.last == false }
    try await eventually("the client is ready again") { client.isReady }
    try await stream.advance(by: 50)
    await stream.end()
    #expect(states.first == false && states.last == true)
    #expect(!stream.failures.isEmpty)
    try await cluster.stop()
  }

  @Test func `a slot without a server is named`() async throws {
    let cluster = try await RedisCluster(replicas: 0, ["--cluster-require-full-coverage", "no"])
    let log = LogLines()
    let client = try await connected(cluster, log: log.log(level: .info))
    let slot = HashSlot.of("lost")
    for node in cluster.nodes { try await node.redisCLI(["CLUSTER", "DELSLOTS", "\(slot)"]) }
    try await eventually("the error names the slot") {
      do throws(RedisError) {
        _ = try await client.send(RedisCommand("GET", "lost"))
        return false
      } catch {
        return error.description.contains("no server of the cluster has slot \(slot)")
      }
    }
    #expect(log.lines.contains { $0.contains("slots of the cluster have no server") && $0.contains("\(slot)-\(slot)") })
    #expect(try await client.send(RedisCommand("SET", "found", "1")) == .status("OK"), "the others are served")
    try await cluster.stop()
  }

  @Test func `a server that is no cluster is named`() async throws {
    let server = try await RedisServer(tcp: true)
    let url = "redis+cluster://127.0.0.1:\(server.port ?? 0)"
    let client = RedisClient(endpoint: try RedisEndpoint(url: url), name: "test", timeout: patience, log: .silent)
    client.start()
    try await eventually("the error names it") {
      do throws(RedisError) {
        try await client.ready(within: .zero)
        return false
      } catch {
        return error.description.contains("is not part of a cluster: write redis://")
      }
    }
    try await server.stop()
  }
}

/// Sends a command again and again, eight at a time.
@EventLoop
private final class CommandStream {
  typealias Send = @EventLoop (RedisClient, Int, @escaping RedisClient.Completion) -> Void

  private(set) var replies: [RedisValue] = []
  private(set) var failures: [RedisError] = []
  private let client: RedisClient
  private let send: Send
  private var sent = 0
  private var pending = 0
  private var isEnding = false

  init(_ client: RedisClient, send: @escaping Send) {
    self.client = client
    self.send = send
    for _ in 0..<8 { next() }
  }

  /// Waits until `count` more commands were carried out.
  func advance(by count: Int) async throws {
    let goal = replies.count + count
    try await eventually("\(goal) commands were carried out, \(failures.last.debugDescription)") {
      replies.count >= goal
    }
  }

  func end() async {
    isEnding = true
    while pending > 0 { await EventLoop.endOfTurn() }
  }

  private func next() {
    guard !isEnding else { return }
    pending += 1
    sent += 1
    send(client, sent) { [self] result in
      pending -= 1
      switch result {
      case .success(let value): replies.append(value)
      case .failure(let error): failures.append(error)
      }
      EventLoop.atEndOfTurn { self.next() }
    }
  }
}
