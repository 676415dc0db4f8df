import EventLoop
import Redis
import TestSupport
import Testing

@EventLoop
struct RedisConnectionTests {
  private static let server = Task { try await RedisServer(["--maxmemory-policy", "noeviction"], tcp: true) }

  private func connection(database: Int = 0) async throws -> RedisConnection {
    try await RedisConnection.ready("\(Self.server.value.url)?db=\(database)")
  }

  @Test func `replies of one turn come back in the order of the commands`() async throws {
    let connection = try await connection()
    var replies: [RedisValue] = []
    for number in 0..<5_000 {
      connection.send(RedisCommand("ECHO").with(number)) { result in
        if case .success(let value) = result { replies.append(value) }
      }
    }
    _ = try await connection.send(RedisCommand("PING"))
    #expect(replies.map(\.string) == (0..<5_000).map(String.init))
  }

  @Test func `a completion never runs before send returns`() async throws {
    let connection = try RedisConnection.started("unix:///nowhere.sock")
    var isDone = false
    connection.send(RedisCommand("PING")) { _ in isDone = true }
    #expect(!isDone)
    try await eventually("the completion runs") { isDone }
  }

  @Test func `keys and values may be any bytes, including NULs and line ends`() async throws {
    let connection = try await connection()
    let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
    let key: [UInt8] = [0, 13, 10, 255, 0]
    _ = try await connection.send(RedisCommand("SET").with(key).with(bytes))
    #expect(try await connection.send(RedisCommand("GET").with(key)) == .bytes(bytes))
    #expect(try await connection.send(RedisCommand("GET", "absent")) == .null)
    _ = try await connection.send(RedisCommand("SET", "empty", ""))
    #expect(try await connection.send(RedisCommand("GET", "empty")) == .bytes([]))
  }

  @Test func `a reply of many megabytes arrives complete`() async throws {
    let connection = try await connection()
    let bytes = [UInt8](repeating: 7, count: 20_000_000)
    _ = try await connection.send(RedisCommand("SET").with("big").with(bytes))
    #expect(try await connection.send(RedisCommand("GET", "big")).bytes?.count == bytes.count)
    _ = try await connection.send(RedisCommand("DEL", "big"))
  }

  @Test func `an error reply fails its command and no other`() async throws {
    let connection = try await connection()
    _ = try await connection.send(RedisCommand("SET", "text", "x"))
    let error = await #expect(throws: RedisError.self) { try await connection.send(RedisCommand("LPOP", "text")) }
    guard case .reply(let reply) = error else {
      Issue.record("expected a reply, got \(String(describing: error))")
      return
    }
    #expect(reply.code == "WRONGTYPE")
    #expect(reply.message.hasPrefix("WRONGTYPE Operation against"))
    #expect(try await connection.send(RedisCommand("GET", "text")).string == "x")
  }

  @Test func `an error within an array is an element`() async throws {
    let connection = try await connection()
    _ = try await connection.send(RedisCommand("SET", "string", "x"))
    for command in [RedisCommand("MULTI"), RedisCommand("LPOP", "string"), RedisCommand("PING")] {
      connection.send(command) { _ in }
    }
    let reply = try await connection.send(RedisCommand("EXEC"))
    guard case .array(let elements) = reply, case .error(let error) = elements.first else {
      Issue.record("expected an array that starts with an error, got \(reply)")
      return
    }
    #expect(error.code == "WRONGTYPE")
    #expect(elements.last == .status("PONG"))
  }

  @Test func `the database of the URL is the one that is used`() async throws {
    let (first, second) = (try await connection(database: 3), try await connection(database: 4))
    _ = try await first.send(RedisCommand("SET", "where", "three"))
    #expect(try await second.send(RedisCommand("EXISTS", "where")) == .integer(0))
    #expect(try await first.send(RedisCommand("CLIENT", "GETNAME")).string == "martlet")
  }

  @Test func `a TCP connection works like one over a unix socket`() async throws {
    let port = try #require(try await Self.server.value.port)
    let connection = try await RedisConnection.ready("redis://127.0.0.1:\(port)/2")
    #expect(try await connection.send(RedisCommand("PING")) == .status("PONG"))
  }

  @Test func `the source of an unknown script is sent with its keys and arguments`() async throws {
    let connection = try await connection()
    let script = RedisScript(
      keys: ["key"], arguments: ["bytes", "numbers..."],
      "return {key, bytes, ARGV[numbers + 1], '\(UInt64.random(in: 0 ... .max))'}")
    for _ in 0..<2 {
      let reply = try await connection.send(script.call(keys: "k", arguments: [0, 1] as [UInt8], RedisList(["42"])))
      #expect(reply.array?.prefix(3) == [.bytes(Array("k".utf8)), .bytes([0, 1]), .bytes(Array("42".utf8))])
    }
  }

  @Test func `preloaded scripts are known at the first call, and run also after a flush`() async throws {
    let connection = try await connection()
    let script = RedisScript("return \(Int32.random(in: 0 ... .max))")
    connection.preload([script])
    let sha1 = try await connection.send(RedisCommand("SCRIPT", "LOAD", "return 1"))
    #expect(sha1.string == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    let first = try await connection.send(script.call())
    _ = try await connection.send(RedisCommand("SCRIPT", "FLUSH"))
    #expect(try await connection.send(script.call()) == first)
  }

  @Test func `a blocking command may take longer than others on a connection of its own`() async throws {
    let (blocked, other) = (try await connection(), try await connection())
    async let moved = blocked.send(
      RedisCommand("BLMOVE", "from", "to", "RIGHT", "LEFT", "0"), timeout: patience)
    try await eventually("the client is blocked") {
      try await other.send(RedisCommand("INFO", "clients")).string?.contains("blocked_clients:1") == true
    }
    _ = try await other.send(RedisCommand("LPUSH", "from", "job"))
    #expect(try await moved.string == "job")
    #expect(try await blocked.send(RedisCommand("BLMOVE", "from", "to", "RIGHT", "LEFT", "0.01")) == .null)
  }

  @Test func `closing fails pending commands as unknown and later ones as not sent`() async throws {
    let connection = try await connection()
    let pending = Task { try await connection.send(RedisCommand("BLPOP", "never", "0")) }
    let other = try await self.connection()
    try await eventually("the client is blocked") {
      try await other.send(RedisCommand("CLIENT", "LIST")).string?.contains("cmd=blpop") == true
    }
    var states: [Bool] = []
    connection.onStateChange = { states.append($0) }
    connection.close()
    await #expect(throws: RedisError.outcomeUnknown("the connection to redis was closed")) { try await pending.value }
    await #expect(throws: RedisError.notSent("not connected to redis")) {
      try await connection.send(RedisCommand("PING"))
    }
    #expect(states == [false])
    await #expect(throws: RedisError.self) { try await connection.ready(within: patience) }
  }

  @Test func `commands that were not written when the connection closes were not sent`() async throws {
    let connection = try await connection()
    var outcome: Result<RedisValue, RedisError>?
    connection.send(RedisCommand("PING")) { outcome = $0 }
    connection.close()
    #expect(outcome == .failure(.notSent("the connection to redis was closed")))
  }
}
