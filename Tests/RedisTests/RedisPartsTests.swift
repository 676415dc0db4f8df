import Testing

@testable import Redis

/// The parts that need no socket.
struct RedisPartsTests {
  @Test func `a command consists of words of any type`() {
    var command = RedisCommand("ZADD", "key")
    command.append(-7)
    command.append([0, 255] as [UInt8])
    command.append("")
    #expect(
      command.words.map(Array.init) == [Array("ZADD".utf8), Array("key".utf8), Array("-7".utf8), [0, 255], []])
  }

  @Test func `the source of a script replaces its digest, and keys and arguments are kept`() {
    let script = RedisScript("return 1")
    #expect(script.sha1 == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    let named = RedisScript(keys: ["one", "two"], arguments: ["three"], "return 1")
    let command = named.call(keys: "a", "", arguments: "x").command
    #expect(command.words.map { String(decoding: $0, as: UTF8.self) } == ["EVALSHA", named.sha1, "2", "a", "", "x"])
    #expect(
      command.evaluating(script.source).words.map { String(decoding: $0, as: UTF8.self) }
        == ["EVAL", "return 1", "2", "a", "", "x"])
    let bare = script.call().command.evaluating("s")
    #expect(bare.words.map { String(decoding: $0, as: UTF8.self) } == ["EVAL", "s", "0"])
  }

  @Test(arguments: [
    ("OOM command not allowed when used memory > 'maxmemory'.", "OOM"),
    ("READONLY You can't write against a read only replica.", "READONLY"),
    ("MISCONF Redis is configured to save RDB snapshots", "MISCONF"),
    ("NOREPLICAS Not enough good replicas to write.", "NOREPLICAS"),
    ("NOPERM this user has no permissions", "NOPERM"),
    (
      "ERR Error running script (call to f_0): @user_script:12: -OOM command not allowed when used memory", "OOM"
    ),
    (
      "ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -READONLY You can't write against a read",
      "READONLY"
    ),
    (
      "ERR Error running script (call to f_0): @user_script:1: @user_script: 1: The user executing the script can't run",
      "NOPERM"
    ),
    ("ERR The user executing the script can't run this command or subcommand script: 0, on @user_script:1.", "NOPERM"),
    (
      "ERR ACL failure in script: User u has no permissions to run the 'zadd' command script: 0, on @user_script:1.",
      "NOPERM"
    ),
    ("@user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.", "OOM"),
  ])
  func `a refusal is known by its code, also within the error of a script`(message: String, code: String) {
    #expect(RedisReplyError(message: message).cause == code)
  }

  @Test func `the error of a script's command is not a failure of the script`() {
    let wrapped = "ERR Error running script (call to f_0): @user_script:1: "
    #expect(RedisError.reply(RedisReplyError(message: wrapped + "WRONGTYPE Operation against a key")).isWrongType)
    #expect(!RedisReplyError(message: wrapped + "WRONGTYPE Operation against a key").isScriptFailure)
    #expect(RedisReplyError(message: wrapped + "user_script:1: attempt to perform arithmetic").isScriptFailure)
    #expect(RedisReplyError(message: "ERR user_script:1: attempt to perform arithmetic script: 0").isScriptFailure)
    #expect(RedisReplyError(message: wrapped + "@user_script: 1: -READONLY You can't write").asksForReconnect)
    #expect(!RedisReplyError(message: "ERR unknown command 'user_script:1: -READONLY'").asksForReconnect)
  }

  @Test func `other errors are no refusals`() {
    for message in ["NOSCRIPT No matching script.", "WRONGTYPE Operation against", "ERR unknown command 'X -OOM '", ""]
    {
      #expect(!RedisInstruments.codes.contains(RedisReplyError(message: message).cause))
    }
  }

  @Test func `commands are encoded in RESP`() {
    var output: [UInt8] = Array("before".utf8)
    RedisCommand("SET", "k", "").with([0] as [UInt8]).write(to: &output)
    #expect(String(decoding: output, as: UTF8.self) == "before*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n$1\r\n\0\r\n")
    for count in [9, 10, 109, 1_000, 12_345] {
      let word = String(repeating: "\r\n", count: count)
      let command = RedisCommand("MGET", Array(repeating: word, count: count / 9))
      output = []
      command.write(to: &output)
      let words = String(repeating: "$\(2 * count)\r\n\(word)\r\n", count: count / 9)
      #expect(output == Array("*\(count / 9 + 1)\r\n$4\r\nMGET\r\n\(words)".utf8))
      #expect(
        command.words.dropFirst().map { String(decoding: $0, as: UTF8.self) }
          == Array(repeating: word, count: count / 9))
    }
  }

  @Test func `replies are decoded however the stream is divided`() throws {
    let stream = Array("+OK\r\n:-12\r\n$-1\r\n$0\r\n\r\n*-1\r\n*2\r\n$2\r\n\0\n\r\n-ERR no\r\n*0\r\n".utf8)
    let expected: [RedisValue] = [
      .status("OK"), .integer(-12), .null, .bytes([]), .null,
      .array([.bytes([0, 10]), .error(RedisReplyError(message: "ERR no"))]), .array([]),
    ]
    for size in 1...stream.count {
      let reader = try #require(ReplyReader())
      var values: [RedisValue] = []
      for start in stride(from: 0, to: stream.count, by: size) {
        let piece = Array(stream[start..<min(start + size, stream.count)])
        reader.feed(piece, count: piece.count)
        while case .value(let value) = reader.next() { values.append(value) }
      }
      #expect(values == expected)
    }
  }

  @Test func `an unfinished reply above the limit is dropped when it ends`() throws {
    let reader = try #require(ReplyReader())
    let megabyte = [UInt8](repeating: 1, count: 1 << 20)
    let head = Array("$\(500 * megabyte.count)\r\n".utf8)
    reader.feed(head, count: head.count)
    for _ in 0..<500 {
      reader.feed(megabyte, count: megabyte.count)
      #expect(reader.next() == .needsMore)
    }
    let end = Array("\r\n+next\r\n".utf8)
    reader.feed(end, count: end.count)
    guard case .tooLarge = reader.next() else {
      Issue.record("expected a reply that is too large")
      return
    }
    #expect(reader.next() == .value(.status("next")))
  }

  @Test func `random bytes never trap`() throws {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("*$:+-0123456789\r\n\0\u{FF}".utf8)
    for _ in 0..<2_000 {
      let reader = try #require(ReplyReader())
      let bytes = (0..<64).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
      reader.feed(bytes, count: bytes.count)
      while case .value = reader.next() {}
    }
  }

  @Test func `the names of a script are locals, and a list has any number of words`() {
    let script = RedisScript(keys: ["key", "others..."], arguments: ["word", "numbers..."], "return 1")
    #expect(
      script.source
        == "local key, others = KEYS[1], 1\nlocal word, numbers = ARGV[1], 1\nreturn 1")
    var call = script.call(keys: "a", RedisList(["b", "c"]), arguments: "d", RedisList())
    call.append(5)
    let words = call.command.words.dropFirst(2).map { String(decoding: $0, as: UTF8.self) }
    #expect(words == ["3", "a", "b", "c", "d", "5"])
  }

  @Test func `the greeting authenticates first and pings last`() throws {
    let endpoint = try RedisEndpoint(url: "redis://u:p@h/3")
    let greeting = Greeting(to: endpoint, name: "martlet", scripts: [RedisScript("return 1")])
    #expect(greeting.steps.map(\.step) == [.authenticate, .name, .select, .load, .ping])
    let bare = Greeting(to: try RedisEndpoint(url: "redis://h"), name: "martlet", scripts: [])
    #expect(bare.steps.map(\.step) == [.name, .ping])
  }

  @Test func `a sentinel's server is refused unless its role is master`() throws {
    let endpoint = try RedisEndpoint(url: "redis+sentinel://h/m")
    for (role, isMaster) in [("master", true), ("slave", false)] {
      var greeting = Greeting(to: endpoint, name: "martlet", scripts: [])
      #expect(greeting.steps.map(\.step) == [.name, .role, .ping])
      #expect(greeting.receive(.success(.status("OK"))) == .more)
      let decision = greeting.receive(.success(.array([.bytes(Array(role.utf8)), .integer(1)])))
      #expect((decision == .more) == isMaster)
    }
  }
}
