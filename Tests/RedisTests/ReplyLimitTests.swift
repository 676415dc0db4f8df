import EventLoop
import TestSupport
import Testing

@testable import Redis

/// Replies that are too large, and what comes behind them.
struct ReplyLimitTests {
  private static let server = Task { try await RedisServer() }

  /// What comes out of a stream that is fed in pieces of `size` bytes.
  private func read(_ stream: [UInt8], inPiecesOf size: Int) throws -> [ReplyReader.Next] {
    let reader = try #require(ReplyReader())
    var found: [ReplyReader.Next] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      let piece = Array(stream[start..<min(start + size, stream.count)])
      reader.feed(piece, count: piece.count)
      while true {
        let next = reader.next()
        if next == .needsMore { break }
        found.append(next)
        if case .broken = next { return found }
      }
    }
    return found
  }

  /// The limits, each with a reply that exceeds it.
  enum Limit: String, CaseIterable {
    case elements
    case depth = "nested arrays"
    case bytes
    case bytesOfOneString = "bytes "

    var reply: String {
      switch self {
      case .elements:
        "*3\r\n$1\r\na\r\n*1048577\r\n" + String(repeating: ":1\r\n", count: 1_048_577) + "*1\r\n$-1\r\n"
      case .depth: String(repeating: "*2\r\n:1\r\n", count: 30) + "-ERR deepest\r\n"
      case .bytes: "*3\r\n" + String(repeating: Limit.string(33_000_000), count: 3)
      case .bytesOfOneString: Limit.string(70_000_000)
      }
    }

    private static func string(_ count: Int) -> String {
      "$\(count)\r\n\(String(repeating: "x", count: count))\r\n"
    }
  }

  @Test(arguments: Limit.allCases, [16_384, 1_000_003])
  func `a reply past a limit is read past, and those around it are replies`(limit: Limit, size: Int) throws {
    // Only the reply of `depth` is short enough for small pieces.
    let size = limit == .depth ? size % 100 : size
    let reply = limit.reply
    let stream = Array("+before\r\n\(reply)*2\r\n$5\r\nafter\r\n:7\r\n\(reply)+end\r\n".utf8)
    let found = try read(stream, inPiecesOf: size)
    try #require(found.count == 5)
    #expect(found[0] == .value(.status("before")))
    #expect(found[2] == .value(.array([.bytes(Array("after".utf8)), .integer(7)])))
    #expect(found[4] == .value(.status("end")))
    for index in [1, 3] {
      guard case .tooLarge(let text) = found[index] else {
        Issue.record("expected a reply that is too large")
        continue
      }
      #expect(text.contains(limit.rawValue.split(separator: " ")[0]))
    }
  }

  @Test func `bytes within it that are not a reply end the stream`() throws {
    for garbage in ["what\r\n", "$x\r\n", "$-2\r\n", "*\r\n", "$12", "\r\n", "$99999999999999999999\r\n"] {
      let stream = Array("*2147483647\r\n:1\r\n\(garbage)\(String(repeating: "9", count: 64))".utf8)
      let found = try read(stream, inPiecesOf: 3)
      guard case .broken(let reason) = found.last else {
        Issue.record("expected the stream to be broken by \(garbage)")
        continue
      }
      #expect(reason.hasPrefix("protocol error"))
    }
  }

  @Test func `random bytes never trap`() throws {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("*$:+-0123456789\r\n\0\u{FF}".utf8)
    for _ in 0..<2_000 {
      let bytes = Array("*2147483647\r\n".utf8) + (0..<64).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
      _ = try read(bytes, inPiecesOf: 5)
    }
  }

  @EventLoop
  @Test func `a command whose reply is too large fails alone, and its neighbours in the pipeline are answered`()
    async throws
  {
    let server = try await Self.server.value
    let connection = try await RedisConnection.ready(server.url)
    let fill =
      "for i = 1, 524289 do redis.call('RPUSH', KEYS[1], i, i) end return redis.call('SETRANGE', KEYS[2], 68000000, 'x')"
    _ = try await connection.send(RedisCommand("EVAL", fill, "2", "large", "long"), timeout: patience)
    let nested = "local t = {1} for i = 1, 20 do t = {t} end return t"
    let oversized = [
      RedisCommand("LRANGE", "large", "0", "-1"), RedisCommand("GET", "long"), RedisCommand("EVAL", nested, "0"),
      RedisCommand("MGET", "long", "long"),
    ]
    var failures: [RedisError] = []
    var replies = 0
    for command in oversized {
      connection.send(RedisCommand("PING")) { if $0 == .success(.status("PONG")) { replies += 1 } }
      connection.send(command, timeout: patience) { if case .failure(let error) = $0 { failures.append(error) } }
    }
    #expect(try await connection.send(RedisCommand("ECHO", "last"), timeout: patience).string == "last")
    #expect(replies == oversized.count)
    #expect(failures.count == oversized.count)
    for failure in failures {
      guard case .replyTooLarge = failure else {
        Issue.record("expected a reply that is too large, got \(failure)")
        continue
      }
      #expect(failure.isOfThisCommand && failure.isRefusal)
    }
    #expect(connection.reconnects == 0)
  }

  @Test(arguments: [
    ("WRONGTYPE Operation against a key", true), ("ERR Error running script: -WRONGTYPE Operation", true),
    ("ERR user_script:3: attempt to compare nil with number script: 12ab, on @user_script:3.", true),
    ("OOM command not allowed", false), ("READONLY You can't write", false), ("NOPERM no permissions", false),
    ("ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed", false),
    ("ERR max number of clients reached", false), ("MISCONF Redis is configured", false), ("BUSY Redis is busy", false),
  ])
  func `a fault of the command itself is distinguished from the state of Redis`(message: String, isOwn: Bool) {
    #expect(RedisError.reply(RedisReplyError(message: message)).isOfThisCommand == isOwn)
  }

  @EventLoop
  @Test func `what redis quotes from a command does not cost the connection`() async throws {
    let server = try FakeRedis { _, words in
      FakeRedis.greeting(words)
        ?? (words[0] == "GET" ? "+fine\r\n" : "-ERR unknown command 'X', with args: -READONLY\r\n")
    }
    let connection = try await RedisConnection.ready(server.url)
    await #expect(throws: RedisError.self) { try await connection.send(RedisCommand("SET")) }
    #expect(try await connection.send(RedisCommand("GET")) == .status("fine"))
    #expect(connection.reconnects == 0)
  }
}
