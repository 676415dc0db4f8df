import EventLoop
import Glibc
import Redis
import Telemetry
import TestSupport
import Testing

/// A real server that is killed, stopped, full or protected by a password.
@EventLoop
struct RedisOutageTests {
  @Test func `after kill -9 and a restart the connection is ready again, with one log line for each reason`()
    async throws
  {
    let server = try await RedisServer()
    let log = LogLines()
    let connection = try await RedisConnection.ready(server.url, log: log.log(level: .info))
    var states: [Bool] = []
    connection.onStateChange = { states.append($0) }
    let pending = Task { try await connection.send(RedisCommand("BLPOP", "never", "0")) }
    try await eventually("the client is blocked") {
      try await server.redisCLI("CLIENT", "LIST").contains("cmd=blpop")
    }
    try await server.kill()
    let error = await #expect(throws: RedisError.self) { try await pending.value }
    guard case .outcomeUnknown = error else {
      Issue.record("expected an unknown outcome, got \(String(describing: error))")
      return
    }
    let refused = await #expect(throws: RedisError.self) { try await connection.send(RedisCommand("PING")) }
    guard case .notSent = refused else {
      Issue.record("expected not sent, got \(String(describing: refused))")
      return
    }
    try await server.restart()
    try await connection.ready(within: patience)
    #expect(try await connection.send(RedisCommand("PING")) == .status("PONG"))
    #expect(states == [false, true])
    #expect(connection.reconnects == 1)
    // The connection was lost, and may have been refused before the server was back.
    #expect((1...2).contains(log.count(containing: "redis is not reachable")))
    #expect(log.count(containing: "outageMilliseconds") == 1)
  }

  @Test func `a stopped server loses the connection at the deadline and is found when it continues`() async throws {
    let server = try await RedisServer()
    let connection = try await RedisConnection.ready(server.url)
    try await server.kill(SIGSTOP)
    await #expect(throws: RedisError.outcomeUnknown("redis did not answer in time")) {
      try await connection.send(RedisCommand("PING"), timeout: .milliseconds(100))
    }
    try await server.kill(SIGCONT)
    try await connection.ready(within: patience)
    #expect(try await connection.send(RedisCommand("PING")) == .status("PONG"))
  }

  @Test func `a server that comes up later is found`() async throws {
    let server = try await RedisServer()
    try await server.kill()
    let connection = try RedisConnection.started(server.url)
    _ = try await connection.refusal(containing: "refused")
    try await server.restart()
    try await connection.ready(within: patience)
    #expect(connection.reconnects == 0)
  }

  @Test func `out of memory is a reply, and reads still work`() async throws {
    let server = try await RedisServer(["--maxmemory", "1", "--maxmemory-policy", "noeviction"])
    let connection = try await RedisConnection.ready(server.url)
    let error = await #expect(throws: RedisError.self) { try await connection.send(RedisCommand("SET", "k", "v")) }
    guard case .reply(let reply) = error else {
      Issue.record("expected a reply, got \(String(describing: error))")
      return
    }
    #expect(reply.code == "OOM")
    #expect(try await connection.send(RedisCommand("GET", "k")) == .null)
  }

  @Test func `only the right password works, and a wrong one is never shown`() async throws {
    let server = try await RedisServer(password: "s:3/cr@t")
    let path = server.socketPath
    _ = try await RedisConnection.ready("unix://:s%3A3%2Fcr%40t@\(path)")
    for (credentials, words) in [(":wr0ng@", "user or password"), ("", "has none"), ("al:s@", "user or password")] {
      let log = LogLines()
      let connection = try RedisConnection.started("unix://\(credentials)\(path)", log: log.log(level: .info))
      let reason = try await connection.refusal(containing: words)
      #expect(!reason.contains("wr0ng"))
      #expect(!log.lines.joined().contains("wr0ng"))
      #expect(log.lines.count == 1)
      connection.close()
    }
  }

  @Test func `a user of the access list can connect as soon as it exists`() async throws {
    let server = try await RedisServer()
    let connection = try RedisConnection.started("unix://alice:open@\(server.socketPath)?db=1")
    _ = try await connection.refusal(containing: "user or password")
    try await server.redisCLI("ACL", "SETUSER", "alice", "on", ">open", "allkeys", "allcommands")
    try await connection.ready(within: patience)
    #expect(try await connection.send(RedisCommand("ACL", "WHOAMI")).string == "alice")
  }

  @Test func `commands beyond the output limit are not sent, others are`() async throws {
    let server = try await RedisServer()
    let connection = try await RedisConnection.ready(server.url)
    let megabyte = [UInt8](repeating: 0, count: 1 << 20)
    var (sent, refused) = (0, 0)
    for _ in 0..<70 {
      connection.send(RedisCommand("SET").with("k").with(megabyte)) { result in
        switch result {
        case .success: sent += 1
        case .failure(.notSent): refused += 1
        case .failure(let error): Issue.record(error)
        }
      }
    }
    try await eventually("all are answered") { sent + refused == 70 }
    #expect(sent == 64 && refused == 6)
    #expect(try await connection.send(RedisCommand("STRLEN", "k")) == .integer(1 << 20))
  }
}
