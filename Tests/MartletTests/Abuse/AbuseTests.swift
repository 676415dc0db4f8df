import PushModel
import FleetSupport
import Foundation
import Jobs
import JSON
import Redis
import Registry
import Testing
import TestSupport
@testable import Queue

/// One user, producer or client must not affect another: each attack runs while a victim of the same process is
/// measured. The tests print figures and expect that every request and every job of the victim succeeds.
@Suite(.serialized) struct AbuseTests {
  private static let queue = "abuse:jobs"
  private static let shared = Task { try await Fleet() }
  private static let sharedSidecar = Task {
    try await shared.value.sidecar(
      "all",
      [
        "MARTLET_QUEUES": queue, "MARTLET_ALLOWED_ORIGINS": "https://app.example",
        // As many as usual, in a time that no test exceeds.
        "MARTLET_TEST_LIMIT": "60/1h", "MARTLET_AUTH_FAILURE_LIMIT": "20/1h",
      ])
  }

  private let fleet: Fleet
  private let sidecar: SidecarProcess
  private let victim: Victim
  private var queue: String { Self.queue }

  init() async throws {
    fleet = try await Self.shared.value
    sidecar = try await Self.sharedSidecar.value
    try await fleet.gateway.reset()
    try await sidecar.apns("ok")
    victim = try await Victim(fleet, sidecar, queue: Self.queue)
  }

  /// Creates a set of tokens without metadata inside Redis.
  private func fill(_ user: String, entries: Int) async throws {
    let script = """
      for start = 1, ARGV[1], 1000 do
        local batch = {}
        for i = start, math.min(start + 999, tonumber(ARGV[1])) do
          batch[#batch + 1] = string.format('%064x', 0xabc0000000 + i)
        end
        redis.call('SADD', KEYS[1], unpack(batch))
      end
      return redis.call('SCARD', KEYS[1])
      """
    let count = try await fleet.redis("EVAL", script, "1", RegistryKeys.userTokens(Username(user)), "\(entries)")
      .integer
    #expect(count == Int64(entries))
  }

  @Test func `a user with a hundred thousand entries does not delay others`() async throws {
    let attacker = try await fleet.userWithCredentials("hoarder")
    try await fill(attacker, entries: 100_001)
    let account = try await victim.served("100,001 entries") {
      for _ in 0..<21 {
        try await fleet.enqueue(#"{"to":{"user":"\#(attacker)"},"title":"Mine"}"#, on: queue)
      }
      for _ in 0..<3 { _ = try await sidecar.push("test", as: attacker) }
      let answer = try await sidecar.push("unregister", as: attacker)
      #expect(answer.status == 200, "\(answer.json)")
      try await fleet.settled(queue)
    }
    account.expectServed()
    #expect(try await fleet.redis("SCARD", RegistryKeys.userTokens(Username(attacker))).integer == 0)
  }

  @Test func `a preflight with thousands of commas does not delay others`() async throws {
    let commas = String(repeating: ",", count: 14_000)
    let preflight = """
      OPTIONS /api/push/test HTTP/1.1\r
      Host: localhost\r
      Origin: http://localhost:3000\r
      Access-Control-Request-Method: POST\r
      Access-Control-Request-Headers: \(commas)\r
      Connection: close\r
      \r

      """
    let account = try await victim.served("14,000 commas") {
      let port = sidecar.port
      let answers = try await blocking { try (0..<200).map { _ in try Wire.answer(to: preflight, port: port) } }
      #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 204") || $0.hasPrefix("HTTP/1.1 4") })
    }
    account.expectServed()
  }

  @Test func `oversized jobs go to the dead letters and delay no others`() async throws {
    // Larger ones would keep the Redis of a slow machine busy for longer than others wait for an answer.
    let account = try await victim.served("8 MiB and 20 x 1 MiB") {
      for mebibytes in [8] + Array(repeating: 1, count: 20) {
        let script = "return redis.call('LPUSH', KEYS[1], string.rep('x', ARGV[1] * 1048576))"
        try await fleet.redis("EVAL", script, "1", queue, "\(mebibytes)")
      }
      try await fleet.settled(queue)
    }
    account.expectServed()
    let dead = QueueKeys(queue: queue).dead
    #expect(try await fleet.redis("ZCARD", dead).integer == 21)
    try await fleet.redis("DEL", dead)
  }

  @Test func `a reply is never written to a key of Martlet`() async throws {
    let (list, text, hash) = (fleet.unique("list"), fleet.unique("text"), fleet.unique("hash"))
    try await fleet.redis("RPUSH", list, "theirs")
    try await fleet.redis("SET", text, "theirs")
    try await fleet.redis("HSET", hash, "field", "theirs")
    let fresh = fleet.unique("fresh")
    let account = try await victim.served("replies") {
      for key in [list, text, hash, fresh, queue] {
        let job = #"{"to":{"token":"\#(fleet.uniqueToken())"},"title":"T","replyTo":"\#(key)"}"#
        try await fleet.enqueue(job, on: queue)
      }
      try await fleet.settled(queue)
    }
    account.expectServed()
    for key in [list, text, hash] { #expect(try await fleet.redis("TTL", key).integer == -1, "\(key)") }
    #expect(try await fleet.redis("GET", text).string == "theirs")
    #expect(try await fleet.redis("LLEN", fresh).integer == 1)
    #expect(try await fleet.redis("TTL", fresh).integer ?? 0 > 0)
    let letters = try await fleet.deadLetters(queue)
    #expect(letters.map(\.reason).filter { $0.contains("replyTo") }.count == 1)
    try await fleet.redis("DEL", QueueKeys(queue: queue).dead)
  }

  @Test func `test pushes and pages of one user are bounded`() async throws {
    let attacker = try await fleet.userWithCredentials("amplifier")
    try await fleet.register(fleet.uniqueTokens(2000), to: attacker)
    let record =
      #"{"id":"big","at":1,"status":"unsent","payload":{"aps":{"alert":"\#(String(repeating: "x", count: 60_000))"}}}"#
    try await fleet.pipelined(Array(0..<200)) { _ in
      [
        RedisCommand("XADD", "push:user:\(attacker):notifications", "*", "notification", record)
      ]
    }
    var statuses: Set<Int> = []
    let account = try await victim.served("test pushes and pages") {
      for _ in 0..<70 {
        statuses.insert(
          try await sidecar.push("test", as: attacker, #"{"token":"\#(String(repeating: "a", count: 64))"}"#).status)
      }
      let answer = try await sidecar.push("test", as: attacker)
      statuses.insert(answer.status)
      let pages = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 {
          group.addTask { try await sidecar.ask("/notifications?limit=200", as: attacker).json.bytes.count }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(pages.allSatisfy { $0 < 1 << 20 }, "\(pages)")
    }
    account.expectServed()
    #expect(statuses.contains(429))
    #expect(try await fleet.gateway.ledger().received < 2000)
  }

  @Test func `invalid secrets limit their user, not another user of the same address`() async throws {
    let attacked = fleet.unique("guessed")
    let port = sidecar.port
    let account = try await victim.served("5,000 wrong tokens") {
      let statuses = try await blocking {
        var statuses: [String: Int] = [:]
        let wire = try Wire(port: port)
        for number in 0..<5000 {
          wire.send(
            """
            GET /notifications HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer wrong-\(number)-wrong-wrong\r
            X-Username: \(attacked)\r
            \r

            """)
          statuses[String(try wire.read(until: "}").dropFirst(9).prefix(3)), default: 0] += 1
        }
        return statuses
      }
      #expect(statuses["401", default: 0] <= 25)
      #expect(statuses["429", default: 0] >= 4900)
    }
    account.expectServed()
    #expect(sidecar.process.lines.filter { $0.contains("authentication") }.count >= 1)
  }

  @Test func `many bad tokens of one user do not pause the app`() async throws {
    let attacker = try await fleet.userWithCredentials("nonsense")
    let tokens = fleet.uniqueTokens(90)
    try await fleet.register(tokens, to: attacker)
    for token in tokens { try await fleet.gateway.device(token, #""rule":"bad""#) }
    let account = try await victim.served("90 bad tokens") {
      _ = try await sidecar.push("test", as: attacker)
      for token in tokens {
        try await fleet.register(token, to: attacker)
      }
      try await fleet.enqueue(#"{"to":{"user":"\#(attacker)"},"title":"Mine"}"#, on: queue)
      try await fleet.settled(queue)
    }
    account.expectServed()
    // Bad tokens of one user are removed as usual.
    #expect(try await fleet.redis("SCARD", RegistryKeys.userTokens(Username(attacker))).integer == 0)
  }

  @Test func `jobs to unknown users leave nothing behind`() async throws {
    let stranger = fleet.unique("stranger")
    let account = try await victim.served("2,000 strangers") {
      let jobs = (0..<2000).map { #"{"to":{"user":"\#(stranger)-\#($0)"},"title":"Anybody?"}"# }
      try await fleet.enqueue(jobs.map { Array($0.utf8) }, on: queue)
      try await fleet.settled(queue)
    }
    account.expectServed()
    let keys = try await fleet.redis("KEYS", "push:user:\(stranger)-*").array ?? []
    #expect(keys.isEmpty)
  }

  @Test func `a key that may register tokens cannot have another's device removed`() async throws {
    let key = "key-of-another-app"
    _ = try await ChildProcess.run(
      try builtProduct("martlet"),
      ["credentials", "add", "key", fleet.unique("other-app"), "--scopes", "tokens", "--secret", "-"],
      environment: fleet.environment(), input: key)
    try await fleet.gateway.device(victim.token, #""rule":"forTopic","topic":"com.example.demo""#)
    let account = try await victim.served("/newtoken of another app") {
      for _ in 0..<10 {
        let status = try await ChildProcess.run(
          "curl",
          [
            "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "X-API-Key: \(key)", "-d", "token=\(victim.token)",
            "-d", "bundleId=com.other", "http://127.0.0.1:\(sidecar.port)/newtoken",
          ])
        #expect(status == "200")
      }
    }
    account.expectServed()
    let members = try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(victim.user))).array?.compactMap(
      \.string)
    #expect(members == [victim.token])
  }
}
