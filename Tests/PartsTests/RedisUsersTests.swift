import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Operations
@testable import Queue

/// The users of deploy/redis/users.acl can do their work, and nothing else.
@Suite(.serialized) struct RedisUsersTests {
  private struct Shop: Sendable {
    let fleet: Fleet
    let users: RedisUsers

    init() async throws {
      users = try await RedisUsers()
      let redis = try await RedisServer(users.arguments)
      fleet = try await Fleet(redis: redis, url: users.url(of: "martlet-worker", on: redis))
    }

    func url(_ user: String) -> [String: String?] { ["REDIS_URL": users.url(of: user, on: fleet.redis)] }

    /// Runs a command of `martlet` as an operator; it must succeed.
    func operate(_ arguments: [String], input: String = "") async throws -> [String] {
      let child = try await fleet.martlet(arguments, environment: url("martlet-operator"), input: input)
      #expect(child.exitCode == 0, "\(arguments): \(child.lines)")
      return child.lines(of: .output)
    }

    /// What Redis has refused to its users since the server was started.
    func refusals() async throws -> [String] {
      let entries = try await fleet.redis("ACL", "LOG").array ?? []
      return entries.map { entry in
        let words = (entry.array ?? []).map { $0.string ?? $0.integer.map(String.init) ?? "" }
        return words.joined(separator: " ")
      }
    }
  }

  private static let shop = Task { try await Shop() }

  /// A worker, with everything that can happen to a job.
  @Test func `a worker is refused nothing`() async throws {
    let shop = try await Self.shop.value
    let fleet = shop.fleet
    let token = fleet.uniqueToken()
    let stale = fleet.uniqueToken()
    try await fleet.register([token], to: "alice", bundleID: "com.example.app")
    try await fleet.register([stale], to: "bob", bundleID: "com.example.app")
    try await fleet.gateway.device(stale, #""rule":"unregistered","since":1900000000000"#)
    let sink = try await WebhookSink.started()
    let events = ["MARTLET_WEBHOOK_URL": await sink.url, "MARTLET_WEBHOOK_SECRET": "a-secret-of-the-test"]
    let worker = try await fleet.worker(events, on: "push:jobs:high,push:jobs")
    try await fleet.enqueue(
      #"{"id":"plain","to":{"user":"alice"},"title":"a"}"#,
      #"{"id":"reply","to":{"user":"alice"},"title":"a","replyTo":"push:replies:shop"}"#,
      #"{"id":"once","to":{"user":"alice"},"title":"a","dedupe":"d"}"#,
      #"{"id":"stale","to":{"user":"bob"},"title":"a"}"#,
      #"{"id":"named","to":{"token":"\#(token)","user":"alice"},"title":"a"}"#,
      #"{"id":"several","to":{"tokens":["\#(token)","\#(fleet.uniqueToken())"]},"title":"a"}"#,
      #"{"id":"instance","to":{"instance":"home"},"class":"ritual","title":"a"}"#,
      #"{"id":"nobody","to":{"user":"carol"},"title":"a"}"#,
      #"{"id":"audience","to":{"app":"com.example.app"},"title":"a"}"#,
      #"{"id":"broken","#, on: "push:jobs")
    try await fleet.enqueue([Array(repeating: UInt8(ascii: "x"), count: Job.maximumBytes + 1)], on: "push:jobs:high")
    for id in ["plain", "reply", "once", "stale", "named", "several", "nobody", "audience"] {
      _ = try await fleet.record(id)
    }
    _ = try await fleet.deadLetters("push:jobs", count: 1)
    _ = try await fleet.deadLetters("push:jobs:high", count: 1)
    // A second worker dies, and the first one reaps it.
    let victim = try await fleet.worker(on: "push:jobs:high")
    try await victim.kill()
    try await fleet.forgetHeartbeat(of: victim)
    try await eventually("the dead worker is reaped") {
      try await !(fleet.redis("SMEMBERS", QueueKeys(queue: "push:jobs:high").workers).array ?? [])
        .contains { try $0.string == victim.name() }
    }
    try await eventually("events are sent") { await sink.accepted.contains { $0.hasPrefix("token.removed") } }
    #expect(try await worker.stop() == 0)
    let once = try await fleet.worker(["MARTLET_DELIVERY": "at-most-once"], on: "push:jobs")
    try await fleet.enqueue(#"{"id":"popped","to":{"user":"alice"},"title":"a"}"#, on: "push:jobs")
    _ = try await fleet.record("popped")
    #expect(try await once.stop() == 0)
    #expect(try await shop.refusals() == [])
  }

  @Test func `a reply list that the worker may not write to keeps no job in flight`() async throws {
    let shop = try await Self.shop.value
    let fleet = shop.fleet
    let worker = try await fleet.worker(on: "push:jobs:replies")
    let token = fleet.uniqueToken()
    try await fleet.enqueue(
      #"{"id":"forbidden","to":{"token":"\#(token)"},"title":"a","replyTo":"somebody:elses"}"#, on: "push:jobs:replies")
    #expect(try await fleet.record("forbidden").status == "accepted")
    try await fleet.settled("push:jobs:replies")
    try await eventually("it is logged") { worker.count(of: "was not pushed to its reply list") == 1 }
    #expect(try await fleet.redis("EXISTS", "somebody:elses").integer == 0)
    #expect(try await worker.stop() == 0)
    try await fleet.redis("ACL", "LOG", "RESET")
  }

  @Test func `a stream of events that the worker may not write to costs no reply and no record`() async throws {
    let shop = try await Shop()
    let fleet = shop.fleet
    try await fleet.redis(
      "ACL", "SETUSER", "martlet-worker", "resetkeys", "~push:jobs*", "~push:result:*", "~push:replies:*",
      "~push:user:*", "~push:token:*", "~martlet:*")
    let worker = try await fleet.worker(["MARTLET_EVENTS": "stream"], on: "push:jobs")
    let stale = fleet.uniqueTokens(2)
    for token in stale { try await fleet.gateway.device(token, #""rule":"bad""#) }
    try await fleet.enqueue(
      #"{"id":"replied","to":{"token":"\#(stale[0])"},"title":"a","replyTo":"push:replies:shop"}"#,
      #"{"id":"unheard","to":{"token":"\#(stale[1])"},"title":"a","replyTo":"somebody:elses"}"#, on: "push:jobs")
    for id in ["replied", "unheard"] { #expect(try await fleet.record(id).status == "failed") }
    try await fleet.settled("push:jobs")
    #expect(try await fleet.redis("LLEN", "push:replies:shop").integer == 1)
    #expect(try await fleet.redis("EXISTS", "somebody:elses", "push:events").integer == 0)
    try await eventually("it is logged") { worker.count(of: "was not pushed to its reply list") == 1 }
    #expect(try await worker.metric("martlet_events_refused_total") == 2)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a sidecar is refused nothing`() async throws {
    let shop = try await Self.shop.value
    let fleet = shop.fleet
    let user = try await fleet.userWithCredentials("dora")
    let sidecar = try await fleet.sidecar(
      "sidecar", shop.url("martlet-sidecar").merging(["MARTLET_EVENTS": "stream"]) { $1 })
    let tokens = fleet.uniqueTokens(2)
    for token in tokens {
      let body = #"{"token":"\#(token)","platform":"ios","bundleId":"com.example.app"}"#
      #expect(try await sidecar.push("register", as: user, body).status == 200)
    }
    #expect(try await sidecar.push("test", as: user).status == 200)
    #expect(try await sidecar.push("unregister", as: user, #"{"token":"\#(tokens[0])"}"#).status == 200)
    #expect(try await sidecar.push("unregister", as: user).status == 200)
    #expect(try await sidecar.ask("/notifications", as: user).status == 200)
    #expect(try await sidecar.ask("/readyz", as: user).status == 200)
    #expect(try await sidecar.stop() == 0)
    #expect(try await shop.refusals() == [])
  }

  @Test func `a dashboard is refused nothing`() async throws {
    let shop = try await Self.shop.value
    let dashboard = try await shop.fleet.dashboard(shop.url("martlet-dashboard"))
    // Only paths that need nothing to exist.
    for path in ["/", "/credentials", "/credentials?kind=key", "/audit", "/sign-in"] {
      #expect(try await dashboard.status(of: path) == 200, "\(path)")
    }
    #expect(try await dashboard.stop() == 0)
    #expect(try await shop.refusals() == [])
  }

  @Test func `an operator is refused nothing`() async throws {
    let shop = try await Self.shop.value
    let fleet = shop.fleet
    for reason in ["first", "second"] {
      let letter = #"{"reason":"\#(reason)","at":1,"attempts":1}"# + "\n" + #"{"id":"\#(reason)"}"#
      try await fleet.redis("ZADD", QueueKeys(queue: "push:jobs").dead, "1", letter)
    }
    _ = try await shop.operate(["status"])
    _ = try await shop.operate(["status", "--json"])
    _ = try await shop.operate(["dead", "list", "--queue", "push:jobs"])
    _ = try await shop.operate(["dead", "requeue", "--reason", "first", "--queue", "push:jobs"])
    _ = try await shop.operate(["dead", "purge", "--queue", "push:jobs"])
    _ = try await shop.operate(["queue", "pause", "push:jobs", "--reason", "a test"])
    _ = try await shop.operate(["enqueue", "--user", "erin", "--title", "a", "--id", "to-cancel"])
    _ = try await shop.operate(["cancel", "to-cancel"])
    _ = try await shop.operate(["queue", "resume", "push:jobs"])
    _ = try await shop.operate(["broadcast", "list"])
    _ = try await shop.operate(["credentials", "add", "user", "erin"])
    _ = try await shop.operate(["credentials", "list"])
    _ = try await shop.operate(["credentials", "revoke", "user", "erin"])
    _ = try await shop.operate(["enqueue", "--user", "erin", "--title", "a"])
    try await fleet.register(fleet.uniqueToken(), to: "erin")
    try await fleet.redis("SET", QueueKeys.result("explained"), #"{"id":"explained","status":"failed"}"#)
    _ = try await shop.operate(["explain", "explained"])
    _ = try await shop.operate(["explain", "--user", "erin"])
    let file = try TemporaryDirectory()
    _ = try await shop.operate(["tokens", "export", "\(file.path)/backup.json"])
    _ = try await shop.operate(["tokens", "import", "\(file.path)/backup.json"])
    _ = try await shop.operate(["doctor"])
    #expect(try await shop.refusals() == [])
  }

  @Test(
    .enabled("rights to read or to write alone need Redis 7") {
      try await !RedisServer.version().lexicographicallyPrecedes([7, 0])
    })
  func `a producer may only enqueue and read records`() async throws {
    let shop = try await Self.shop.value
    let redis = shop.fleet.redis
    let options = shop.users.options(of: "martlet-producer")
    try await redis.redisCLI("SET", "push:result:read", "record")
    #expect(try await redis.redisCLI(options + ["LPUSH", "push:jobs:produced", "{}"]) == "1")
    #expect(try await redis.redisCLI(options + ["GET", "push:result:read"]) == "record")
    for words in [
      ["GET", "push:token:x"], ["LPUSH", "push:result:x", "1"], ["RPOP", "push:jobs"], ["DEL", "push:jobs"],
    ] {
      #expect(try await redis.redisCLI(options + words).hasPrefix("NOPERM"), "\(words)")
    }
    try await redis.redisCLI("ACL", "LOG", "RESET")
  }

  @Test func `no user may run a command that harms others or reads what it does not need`() async throws {
    let shop = try await Self.shop.value
    let redis = shop.fleet.redis
    let forbidden = [
      ["FLUSHALL"], ["FLUSHDB"], ["CONFIG", "GET", "*"], ["CONFIG", "SET", "maxmemory", "1"], ["KEYS", "*"],
      ["DEBUG", "SLEEP", "0"], ["SHUTDOWN", "NOSAVE"], ["REPLICAOF", "NO", "ONE"], ["ACL", "LIST"], ["CLIENT", "LIST"],
      ["CLIENT", "KILL", "TYPE", "normal"], ["MONITOR"], ["SWAPDB", "0", "1"], ["SCRIPT", "FLUSH"], ["SELECT", "1"],
      ["RENAME", "push:jobs", "push:x"], ["READONLY"], ["CLUSTER", "RESET"], ["SET", "another:program", "x"],
      ["EVAL", "return redis.call('GET', KEYS[1])", "1", "another:program"], ["SUBSCRIBE", "x"], ["PUBLISH", "x", "y"],
    ]
    for user in shop.users.names {
      for words in forbidden {
        let answer = try await redis.redisCLI(shop.users.options(of: user) + words)
        // DEBUG is refused to everybody by a setting, before the rights are looked at.
        let isRefused = RedisUsers.isRefusal(answer) || answer.hasPrefix("ERR DEBUG")
        #expect(isRefused, "\(user): \(words): \(answer)")
      }
    }
    try await redis.redisCLI("ACL", "LOG", "RESET")
  }

  /// Passwords are the operator's: a file with a known one would let anybody in.
  @Test(arguments: ["users.acl", "users-6.2.acl"]) func `the users of the file are disabled`(name: String) throws {
    let lines = try String(contentsOf: RedisUsers.file(name), encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 6)
    for line in lines { #expect(line.contains(" off resetpass resetkeys resetchannels -@all ")) }
  }

  /// What only operators do with queues.
  private static let operatorsFiles = [
    "AudienceProgress.swift", "FleetQueues.swift", "QueueControl.swift", "OperationsScripts.swift",
  ]

  /// Only sidecars read notification records, only workers read events, only dashboards browse queues, and operators do
  /// not take jobs.
  private static func runs(_ file: String, of module: String, as user: String) -> Bool {
    if user == "martlet" { return true }
    let isForOperators = operatorsFiles.contains(where: file.hasSuffix)
    let isOperator = user == "martlet-operator" || user == "martlet-dashboard"
    if file.hasPrefix("Browsing/") { return user == "martlet-dashboard" }
    guard module == "Queue" else { return isOperator || !isForOperators }
    return isOperator ? isForOperators : !isForOperators && !file.hasSuffix("NotificationLog.swift")
  }

  @Test(arguments: [
    ("martlet-worker", ["Events", "Queue", "Registry", "Parts/Policies", "Worker"]),
    ("martlet-sidecar", ["Events", "Registry", "Credentials", "Sidecar"]),
    ("martlet-operator", ["Queue", "Operations"]),
    ("martlet-dashboard", ["Events", "Queue", "Registry", "Parts/Policies", "Credentials", "Operations", "Dashboard"]),
    (
      "martlet",
      [
        "Events", "Queue", "Registry", "Parts/Policies", "Worker", "Credentials", "Sidecar", "Dashboard", "Backup",
        "Operations", "Martlet",
      ]
    ),
  ])
  func `a user may run every command that its modules name`(user: String, modules: [String]) throws {
    let file = try String(contentsOf: RedisUsers.file("users.acl"), encoding: .utf8)
    let line = try #require(file.split(separator: "\n").first { $0.hasPrefix("user \(user) ") })
    let rights = Set(RedisUsers.words(of: line).filter { $0.hasPrefix("+") }.map { $0.dropFirst().uppercased() })
    let sources = RedisUsers.file("../../Sources").standardizedFileURL
    for module in modules {
      let folder = sources.appending(path: module)
      let files = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
      for file in files where file.hasSuffix(".swift") && Self.runs(file, of: module, as: user) {
        var text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        if file == "EventScripts.swift", user != "martlet-worker", user != "martlet" {
          text.replace(#/let pageScript(?s:.*?)\n    """\)/#, with: "")
        }
        let called = text.matches(of: /redis\.p?call\('([A-Z]+)'/).map { String($0.1) }
        let sent = text.matches(of: /RedisCommand\("([A-Z]+)"(?:, "([A-Z]+)")?/).map { match in
          ["CLIENT", "CLUSTER", "MEMORY"].contains(match.1) ? "\(match.1)|\(match.2 ?? "")" : String(match.1)
        }
        // Doctor asks KeyDB alone for its settings, and goes on without an answer.
        for command in called + sent where command != "CONFIG" {
          #expect(rights.contains(command), "\(module)/\(file): \(command)")
        }
      }
    }
  }

  /// It has no selectors, and no rights to read or to write alone.
  @Test func `the file for Redis 6.2 has the same users, keys and commands`() throws {
    let (current, old) = try (
      String(contentsOf: RedisUsers.file("users.acl"), encoding: .utf8),
      String(contentsOf: RedisUsers.file("users-6.2.acl"), encoding: .utf8)
    )
    #expect(!old.contains("("))
    let rights = { (line: Substring) in
      let words = RedisUsers.words(of: line).map { $0.replacing(/^%(R|W|RW)~/, with: "~") }
      return Set(words.filter { $0 != "clearselectors" && $0 != "~*" })
    }
    #expect(current.split(separator: "\n").map(rights) == old.split(separator: "\n").map(rights))
  }
}
