import Foundation
import Testing
import TestSupport

/// What the users of deploy/redis may do with keys that are other parts'.
@Suite struct RedisUsersKeysTests {
  /// A command that a user must not run.
  struct Attempt: Sendable {
    let user: String
    let words: [String]
    /// Whether it reads or writes where the user may do the other, which Redis 6.2 cannot tell apart.
    let needsRedis7: Bool

    init(_ user: String, _ words: String, needsRedis7: Bool = false) {
      self.user = user
      self.words = words.split(separator: " ").map(String.init)
      self.needsRedis7 = needsRedis7
    }
  }

  /// What makes an operator of the dashboard, ends its sessions, or changes what is known about operators.
  private static let ofDashboards = [
    "SET martlet:{sessions}:x y", "XADD martlet:{audit}:log * at 1", "DEL martlet:{audit}:log",
    "DEL martlet:{audit}:refused", "SET martlet:{forms}:x y", "SET martlet:{notices}:x y", "SET martlet:{reveals}:x y",
  ]
  private static let ofCredentials = [
    "HSET martlet:{credentials}:operator mallory x", "HSET martlet:{credentials}:operator:digests x mallory",
    "SET martlet:{credentials}:operator:existed 1", "DEL martlet:{credentials}:operator",
    "HSET martlet:{credentials}:operator:used mallory 1", "HSET martlet:{credentials}:user:digests x y",
  ]
  /// What only workers write.
  private static let ofWorkers = [
    "SET martlet:{push:jobs}:heartbeat:w x", "SET martlet:{push:jobs}:tombstone:w x",
    "SET martlet:{push:jobs}:keeper w",
    "LPUSH martlet:{push:jobs}:landing:w x", "SET martlet:{push:jobs}:progress:n x", "SET martlet:{dedupe}:x y",
    "SET martlet:{policy}:p:i x", "HSET martlet:{counters}:minute:1 x 1", "SET martlet:refusal:t x",
    "SET martlet:removal:u x", "SET martlet:{push:events}:webhook x", "SET martlet:{push:events}:sender x",
    "DEL martlet:{push:events}:webhook",
  ]
  private static let ofQueues = [
    "LPUSH martlet:{push:jobs}:inflight:w x", "ZADD martlet:{push:jobs:high}:dead 1 x",
    "ZADD martlet:{push:jobs}:scheduled 1 x", "SET martlet:{push:jobs}:seal x", "SET martlet:{push:jobs}:control x",
    "SADD martlet:{push:jobs}:workers w", "SET push:result:x y", "GET push:result:x",
  ]

  /// What loses jobs, keeps producers out, or forges what users poll. Of a queue only elements are added, by operators also
  /// at its front, and nobody but workers adds notifications. Redis 6.2 grants a key for every command of its user.
  private static let harm = [
    "DEL push:jobs", "SET push:jobs x", "LTRIM push:jobs 1 0", "PEXPIRE push:jobs 1", "EXPIRE push:jobs:high 1",
    "SADD push:jobs x", "ZADD push:jobs 1 x", "HSET push:jobs x y", "XADD push:jobs * x y",
    "XADD push:user:alice:notifications * notification x", "DEL push:user:alice:notifications",
    "SET push:user:alice:notifications x", "PEXPIRE push:user:alice:notifications 1",
    "RPUSH push:user:alice:notifications x", "XADD push:instance:home:notifications * notification x",
    "DEL push:events", "SET push:events x", "PEXPIRE push:events 1", "LPUSH push:events x", "RPUSH push:events x",
  ]

  private static let attempts: [Attempt] = {
    var all: [Attempt] = []
    for words in ofDashboards + ofCredentials + ofWorkers + ofQueues {
      all.append(Attempt("martlet-sidecar", words, needsRedis7: words.contains("refusal")))
    }
    for words in [
      "HSET martlet:{credentials}:user mallory x", "HSET martlet:{credentials}:key mallory x",
      "HSET martlet:{credentials}:key:digests x mallory", "DEL martlet:{credentials}:instance",
      "HGET martlet:{credentials}:user:used x",
    ] {
      all.append(Attempt("martlet-sidecar", words, needsRedis7: true))
    }
    for words in ofDashboards + ofCredentials { all.append(Attempt("martlet-worker", words)) }
    for words in [
      "HSET martlet:{credentials}:key mallory x", "SET martlet:{limit}:failure:user:x 1",
      "HSET martlet:{allowance}:x y 1",
      "SET martlet:{backup}:state done", "LPUSH push:anything x",
    ] {
      all.append(Attempt("martlet-worker", words))
    }
    let read = ["heartbeat", "progress", "policy", "counters", "refusal", "removal", "webhook"]
    let written = ofWorkers.filter { words in !read.contains { words.contains($0) } }
    for user in ["martlet-operator", "martlet-dashboard"] {
      for words in written + ["HSET martlet:{allowance}:x y 1", "SET martlet:{backup}:state x"] {
        all.append(Attempt(user, words))
      }
      for words in ofWorkers.filter({ !written.contains($0) }) { all.append(Attempt(user, words, needsRedis7: true)) }
    }
    for words in ofDashboards + ["SET martlet:{limit}:failure:operator:x 1"] {
      all.append(Attempt("martlet-operator", words))
    }
    all.append(Attempt("martlet-dashboard", "SET martlet:{limit}:failure:user:x 1"))
    for user in ["martlet-sidecar", "martlet-operator", "martlet-dashboard"] {
      for words in harm { all.append(Attempt(user, words, needsRedis7: true)) }
    }
    for words in ["RPUSH push:jobs x", "LRANGE push:jobs 0 -1", "LLEN push:jobs", "XRANGE push:events - +"] {
      all.append(Attempt("martlet-sidecar", words, needsRedis7: true))
    }
    return all
  }()

  /// Each is tried as a command, and a write in a script, too.
  @Test func `no part may touch the keys of another`() async throws {
    let users = try await RedisUsers()
    let server = try await RedisServer(users.arguments)
    let isOld = try await RedisServer.version().lexicographicallyPrecedes([7, 0])
    let attempts = Self.attempts.filter { !isOld || !$0.needsRedis7 }
    #expect(attempts.count > 70)
    for attempt in attempts {
      let options = users.options(of: attempt.user)
      let answer = try await server.redisCLI(options + attempt.words)
      #expect(RedisUsers.isRefusal(answer), "\(attempt.user): \(attempt.words): \(answer)")
      let call = "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))"
      let words = ["EVAL", call, "1", attempt.words[1], attempt.words[0]] + attempt.words.dropFirst(2)
      let scripted = try await server.redisCLI(options + words)
      #expect(RedisUsers.isRefusal(scripted), "\(attempt.user): script with \(attempt.words): \(scripted)")
    }
    #expect(try await server.redisCLI("DBSIZE") == "0")
    try await server.stop()
  }
}
