import EventLoop
import Redis
import Telemetry
import TestSupport
import Testing

/// Faults of servers and networks, simulated by a scripted server.
@EventLoop
struct RedisFaultTests {
  private func failure(of command: RedisCommand, on connection: RedisConnection) async -> RedisError? {
    do throws(RedisError) {
      _ = try await connection.send(command)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a peer that stops answering fails a command at its deadline and is replaced`() async throws {
    let server = try FakeRedis { number, words in FakeRedis.greeting(words) ?? (number == 0 ? nil : "+fine\r\n") }
    let connection = try await RedisConnection.ready(server.url)
    let error = await #expect(throws: RedisError.self) {
      try await connection.send(RedisCommand("GET", "k"), timeout: .milliseconds(50))
    }
    #expect(error == .outcomeUnknown("redis did not answer in time"))
    try await connection.ready(within: patience)
    #expect(try await connection.send(RedisCommand("GET", "k")) == .status("fine"))
    #expect(connection.reconnects == 1)
  }

  @Test func `a peer that accepts and sends nothing is never ready, and the error names that`() async throws {
    let server = try FakeRedis { _, _ in nil }
    let connection = try RedisConnection.started(server.url)
    #expect(try await connection.refusal(containing: "no answer yet").contains("check REDIS_URL"))
    connection.close()
  }

  @Test(arguments: [
    "what is this\r\n", "$-5\r\n", "*1000000000000\r\n", "*2147483647\r\nwhat\r\n", ":12x\r\n", "$3\r\nabcdef\r\n",
    String(repeating: "*1\r\n", count: 9) + "1\r\n",
  ])
  func `malformed bytes end the connection and the next one works`(garbage: String) async throws {
    let server = try FakeRedis { number, words in FakeRedis.greeting(words) ?? (number == 0 ? garbage : "+fine\r\n") }
    let connection = try await RedisConnection.ready(server.url)
    var outcomes: [Result<RedisValue, RedisError>] = []
    for _ in 0..<2 { connection.send(RedisCommand("GET", "k")) { outcomes.append($0) } }
    try await eventually("it reconnects") { connection.reconnects == 1 }
    #expect(try await connection.send(RedisCommand("GET", "k")) == .status("fine"))
    #expect(outcomes.count == 2)
    guard case .failure(.outcomeUnknown(let reason)) = outcomes.last else {
      Issue.record("expected an unknown outcome, got \(outcomes)")
      return
    }
    #expect(reason.hasPrefix("protocol error"))
  }

  @Test func `seven nested arrays are a reply`() async throws {
    let nested = String(repeating: "*1\r\n", count: 7) + ":1\r\n"
    let server = try FakeRedis { _, words in FakeRedis.greeting(words) ?? nested }
    let connection = try await RedisConnection.ready(server.url)
    var value = try await connection.send(RedisCommand("GET", "k"))
    for _ in 0..<7 { value = try #require(value.array?.first) }
    #expect(value == .integer(1))
  }

  @Test func `a reply without a command ends the connection`() async throws {
    let server = try FakeRedis { number, words in
      words[0] == "PING" && number == 0 ? "+PONG\r\n+PONG\r\n" : FakeRedis.greeting(words)
    }
    let connection = try RedisConnection.started(server.url)
    try await eventually("it reconnects") { connection.reconnects == 1 }
  }

  @Test(arguments: ["LOADING Redis is loading", "MASTERDOWN Link with MASTER is down", "NOAUTH wanted", "BUSY script"])
  func `a server that is not ready yet is asked again until it is`(refusal: String) async throws {
    let server = try FakeRedis { number, words in
      words[0] == "PING" && number < 2 ? "-\(refusal)\r\n" : FakeRedis.greeting(words)
    }
    let log = LogLines()
    let connection = try await RedisConnection.ready(server.url, log: log.log(level: .info))
    #expect(connection.isReady && connection.reconnects == 0)
    #expect(log.lines.count == 2)
    #expect(log.lines.first?.contains(refusal) == true)
  }

  @Test(arguments: ["READONLY replica", "UNBLOCKED instance state changed", "ERR Error running script: -READONLY no"])
  func `after a failover the command fails with the reply and a new connection is made`(text: String) async throws {
    let server = try FakeRedis { number, words in
      FakeRedis.greeting(words) ?? (number == 0 && words[0] == "SET" ? "-\(text)\r\n" : "+fine\r\n")
    }
    let connection = try await RedisConnection.ready(server.url)
    var behind: Result<RedisValue, RedisError>?
    connection.send(RedisCommand("SET", "k", "v")) { #expect($0 == .failure(.reply(RedisReplyError(message: text)))) }
    connection.send(RedisCommand("GET", "k")) { behind = $0 }
    try await eventually("it reconnects") { connection.reconnects == 1 }
    #expect(behind != nil)
    #expect(try await connection.send(RedisCommand("SET", "k", "v")) == .status("fine"))
  }

  @Test(arguments: [
    "OOM command not allowed", "MISCONF no disk", "NOREPLICAS", "BUSY script", "CLUSTERDOWN", "MOVED 1 a:1",
    "ASK 1 a:1",
    "TRYAGAIN", "NOPERM no", "WRONGTYPE", "EXECABORT", "NOSCRIPT",
  ])
  func `other refusals leave the connection alone`(text: String) async throws {
    let server = try FakeRedis { _, words in
      FakeRedis.greeting(words) ?? (words[0] == "SET" ? "-\(text)\r\n" : "+fine\r\n")
    }
    let connection = try await RedisConnection.ready(server.url)
    #expect(await failure(of: RedisCommand("SET"), on: connection) == .reply(RedisReplyError(message: text)))
    #expect(try await connection.send(RedisCommand("GET")) == .status("fine"))
    #expect(connection.reconnects == 0)
  }

  @Test func `the error of a full server is reported, whichever command it replies to`() async throws {
    let server = try FakeRedis(welcome: "-ERR max number of clients reached\r\n") { _, _ in FakeRedis.hangUp }
    let connection = try RedisConnection.started(server.url)
    _ = try await connection.refusal(containing: "max number of clients")
    connection.close()
  }

  @Test func `a user who may neither PING nor name a connection can connect`() async throws {
    let server = try FakeRedis { _, words in words[0] == "GET" ? "+fine\r\n" : "-NOPERM no\r\n" }
    let connection = try await RedisConnection.ready(server.url)
    #expect(try await connection.send(RedisCommand("GET")) == .status("fine"))
  }

  @Test func `scripts are loaded on every connection before it is ready`() async throws {
    let loads = Locked<[Int]>([])
    let server = try FakeRedis { number, words in
      if words[0] == "SCRIPT" { loads.withLock { $0.append(number) } }
      return FakeRedis.greeting(words) ?? FakeRedis.hangUp
    }
    let connection = try await RedisConnection.ready(server.url)
    connection.preload([RedisScript("return 1"), RedisScript("return 2"), RedisScript("return 1")])
    try await eventually("both are loaded") { loads.withLock { $0 } == [0, 0] }
    #expect(await failure(of: RedisCommand("GET"), on: connection) == .outcomeUnknown("redis closed the connection"))
    try await connection.ready(within: patience)
    #expect(loads.withLock { $0 } == [0, 0, 1, 1])
  }

  @Test func `disconnecting fails pending commands as unknown and reconnects`() async throws {
    let received = Locked(0)
    let server = try FakeRedis { _, words in
      if words[0] == "GET" { received.withLock { $0 += 1 } }
      return FakeRedis.greeting(words)
    }
    let connection = try await RedisConnection.ready(server.url)
    let pending = Task { await failure(of: RedisCommand("GET"), on: connection) }
    try await eventually("the command arrives") { received.withLock { $0 } == 1 }
    connection.disconnect(reason: "enough")
    try await connection.ready(within: patience)
    #expect(await pending.value == .outcomeUnknown("enough"))
  }
}
