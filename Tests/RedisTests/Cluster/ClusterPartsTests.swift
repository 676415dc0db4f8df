import Testing
@testable import Redis

/// The pure parts of the cluster client.
struct ClusterPartsTests {
  private typealias Server = RedisEndpoint.HostAndPort

  private let asked = RedisEndpoint.HostAndPort(host: "10.0.0.9", port: 7000)

  /// From the Redis Cluster specification, and computed by CLUSTER KEYSLOT.
  @Test(arguments: [
    ("123456789", 0x31c3), ("", 0), ("foo", 12182), ("{user1000}.following", 3443), ("user1000", 3443),
    ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015), ("{bar", 4015), ("martlet:{push:jobs}:dead", 12815),
    ("push:jobs", 12815),
  ])
  func `a key has the slot of its hash tag`(key: String, slot: Int) {
    #expect(HashSlot.of(key) == slot)
  }

  @Test func `a command is routed by its first key`() {
    #expect(RedisCommand("GET", "foo").slot == 12182)
    #expect(RedisCommand("EVALSHA", "digest", "1", "foo", "bar").slot == 12182)
    #expect(RedisCommand("EVALSHA", "digest", "0", "foo").slot == nil)
    #expect(RedisCommand("PING").slot == nil)
    #expect(RedisCommand("CLIENT", "UNBLOCK", "7").slot == nil)
  }

  @Test func `an MGET of several keys is a GET of each`() {
    #expect(RedisCommand("MGET", "a").gets == nil)
    #expect(RedisCommand("GET", "a", "b").gets == nil)
    let gets = RedisCommand("MGET", "a", "b").gets ?? []
    #expect(gets.map { $0.words.map { String(decoding: $0, as: UTF8.self) } } == [["GET", "a"], ["GET", "b"]])
  }

  @Test func `a topology is read from CLUSTER SLOTS`() throws {
    let reply = RedisValue.array([
      range(0, 5460, "10.0.0.1", 7000), range(5461, 10922, "", 7001), range(10924, 16383, "10.0.0.3", 7002),
    ])
    let topology = try ClusterTopology(reply, askedServer: asked)
    #expect(topology[0] == Server(host: "10.0.0.1", port: 7000))
    #expect(topology[10922] == Server(host: "10.0.0.9", port: 7001), "without a name it is the server that was asked")
    #expect(topology[10923] == nil)
    #expect(topology.uncovered == [10923...10923])
    var moved = topology
    moved.move(slot: 10923, to: asked)
    #expect(moved.uncovered.isEmpty)
    #expect(moved.changes(from: topology) == [10923])
  }

  @Test(arguments: [
    RedisValue.array([]), .null, .array([.integer(3)]), .array([.array([.integer(0), .integer(99_999), .array([])])]),
    .array([.array([.integer(5), .integer(1), .array([.bytes([97]), .integer(1)])])]),
    .array([.array([.integer(0), .integer(1), .array([.bytes([97]), .integer(0)])])]),
  ])
  func `nonsense is no topology`(reply: RedisValue) {
    #expect(throws: RedisError.self) { try ClusterTopology(reply, askedServer: asked) }
  }

  @Test func `a cluster of more servers than there can be is refused, and so are redirections to them`() throws {
    let ranges = (0..<40_000).map { range(Int64($0 % 16_384), Int64($0 % 16_384), "h\($0)", 7000) }
    #expect(throws: RedisError.self) { try ClusterTopology(.array(ranges), askedServer: asked) }
    var topology = ClusterTopology()
    for number in 0..<40_000 { topology.move(slot: 1, to: Server(host: "h\(number)", port: 7000)) }
    #expect(topology.servers.count == ClusterTopology.maximumServers)
    #expect(topology[1] == Server(host: "h\(ClusterTopology.maximumServers - 1)", port: 7000))
  }

  @Test func `redirections are read from error replies`() {
    #expect(redirection("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, Server(host: "127.0.0.1", port: 6381)))
    #expect(redirection("MOVED 3999 :6381") == .moved(slot: 3999, Server(host: "10.0.0.9", port: 6381)))
    #expect(redirection("ASK 1 ::1:6381") == .ask(Server(host: "::1", port: 6381)))
    #expect(redirection("ASK 1 redis.example.com:6381") == .ask(Server(host: "redis.example.com", port: 6381)))
    #expect(redirection("TRYAGAIN Multiple keys request during rehashing of slot") == .tryAgain)
    #expect(redirection("CLUSTERDOWN Hash slot not served") == .unavailable)
    let long = String(repeating: "h", count: 256)
    for text in [
      "MOVED", "MOVED 1 \(long):1", "MOVED x 127.0.0.1:1", "MOVED 16384 h:1", "MOVED 1 h:0", "MOVED 1 h", "ERR no",
    ] {
      #expect(redirection(text) == nil, "\(text)")
    }
  }

  @Test func `an overview names slots without a server and primaries without a replica`() throws {
    let (host, id) = (RedisValue.bytes(Array("10.0.0.2".utf8)), RedisValue.bytes([]))
    let alone = RedisValue.array([.integer(100), .integer(200), .array([host, .integer(7000), id])])
    let overview = try ClusterOverview(.array([range(0, 99, "10.0.0.1", 7000), alone]), askedServer: asked)
    #expect(overview.primaries == ["10.0.0.1:7000", "10.0.0.2:7000"])
    #expect(overview.withoutReplica == ["10.0.0.2:7000"])
    #expect(overview.uncovered == [201...16_383])
  }

  private func redirection(_ message: String) -> Redirection? {
    Redirection(RedisReplyError(message: message), from: asked)
  }

  private func range(_ first: Int64, _ last: Int64, _ host: String, _ port: Int64) -> RedisValue {
    let server = RedisValue.array([.bytes(Array(host.utf8)), .integer(port), .bytes(Array("id".utf8))])
    return .array([.integer(first), .integer(last), server, server])
  }
}
