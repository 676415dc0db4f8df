import EventLoop
import HTTPServer
import Jobs
import JSON
import Redis
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Credentials
@testable import Gorush
@testable import Queue

/// docs/http/gorush-api.md.
@EventLoop
struct GorushAPITests {
  private nonisolated static let token = String(repeating: "ab", count: 32)

  private func client(
    _ access: GorushAccess = .open, queue: String = "push:jobs:gorush", scopes: Set<KeyScope> = [.jobs],
    quota: KeyQuota = .standard, _ adapt: (inout SidecarConfiguration) -> Void = { _ in }
  ) async throws -> APIClient {
    let client = try await APIClient(quota: quota, scopes: scopes) {
      $0.apis = access == .off ? [] : [{ GorushAPI(context: $0, isOpen: access == .open) }]
      $0.queue = queue
      $0.version = "1.2.3"
      adapt(&$0)
    }
    _ = try await client.fixture.run("DEL", queue)
    return client
  }

  private func jobs(_ client: APIClient, _ queue: String = "push:jobs:gorush") async throws -> [JSONValue] {
    let elements = try await client.fixture.run("LRANGE", queue, "0", "-1").array ?? []
    return try elements.compactMap(\.bytes).map(JSONValue.init(parsing:)).reversed()
  }

  private func body(_ members: String, tokens: [String] = [token], platform: Int = 1) -> String {
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"notifications":[{"tokens":[\#(list)],"platform":\#(platform)\#(members)}]}"#
  }

  private func push(_ client: APIClient, _ body: String) async throws -> (counts: JSONValue?, logs: [JSONValue]) {
    let answer = try await client.send("POST", "/api/push", body)
    #expect(answer.status == 200, "\(answer.body)")
    #expect(answer.json?["success"] == .string("ok"))
    return (answer.json?["counts"], answer.json?["logs"]?.array ?? [])
  }

  // MARK: - Access

  @Test func `it is served only if it is switched on`() async throws {
    let client = try await client(.off)
    for path in ["/api/push", "/api/stat/app"] { #expect(try await client.send("POST", path, "{}").status == 404) }
    await client.stop()
  }

  @Test func `a key needs the scope jobs, and has a quota`() async throws {
    let quota = KeyQuota(perSecond: 1, burst: 2, perDay: 2)
    let client = try await client(.key, queue: "push:jobs:gorush-key", quota: quota)
    let valid = body(#","message":"m""#)
    let anyone = try await client.fixture.request("POST", "/api/push", [:], body: valid)
    #expect(anyone.status == 401)
    #expect(anyone.json?["code"] == .integer(401))
    #expect(anyone.json?["message"]?.string?.contains("X-API-Key") == true)
    let other = client.unique("other")
    try await client.allow(other, secret: other, scopes: [.push])
    #expect(try await client.send("POST", "/api/push", valid, ["X-API-Key": other]).status == 403)
    for status in [200, 200, 429] { #expect(try await client.send("POST", "/api/push", valid).status == status) }
    #expect(try await jobs(client, "push:jobs:gorush-key").count == 2)
    await client.stop()
  }

  @Test func `a page cannot send, and other methods are refused`() async throws {
    let client = try await client(queue: "push:jobs:gorush-page")
    let valid = body(#","message":"m""#)
    let page = try await client.send("POST", "/api/push", valid, ["Origin": "http://localhost:3000"])
    #expect(page.status == 403)
    let wrong = try await client.send("GET", "/api/push")
    #expect(wrong.status == 405)
    #expect(wrong.headers["allow"] == "POST")
    #expect(try await client.send("POST", "/api/stat/app").headers["allow"] == "GET")
    #expect(try await jobs(client, "push:jobs:gorush-page").isEmpty)
    await client.stop()
  }

  @Test func `a key of apps reaches these apps only`() async throws {
    let queue = "push:jobs:gorush-apps"
    let client = try await client(.key, queue: queue)
    for (name, apps) in [("one", ["com.a"]), ("two", ["com.a", "com.b"])] {
      let secret = client.unique(name)
      let credential = Credential(
        kind: .key, name: secret, digest: Credential.digest(of: secret), createdAt: 1, scopes: [.jobs],
        apps: AppBinding(Set(apps)))
      #expect(try await client.fixture.backend.credentials.add(credential) == nil)
    }
    func errors(_ name: String, _ members: String) async throws -> [String] {
      let answer = try await client.send(
        "POST", "/api/push", body(#","message":"m""# + members), ["X-API-Key": client.unique(name)])
      return answer.json?["logs"]?.array?.compactMap { $0["error"]?.string } ?? []
    }
    #expect(try await errors("one", "") == [])
    #expect(try await errors("one", #","topic":"com.b""#) == ["topic: not an app of this API key"])
    #expect(try await errors("two", "") == ["topic: missing; this API key is for several apps"])
    #expect(try await errors("two", #","topic":"com.b.voip""#) == [])
    #expect(try await jobs(client, queue).compactMap { $0["app"]?.string } == ["com.a", "com.b"])
    await client.stop()
  }

  // MARK: - Requests

  @Test(arguments: [
    ("{", nil), ("[]", nil), ("{}", "Missing notifications field."),
    (#"{"notifications":{}}"#, "Missing notifications field."),
    (#"{"notifications":[]}"#, "Notifications field is empty."),
    (
      #"{"notifications":[\#(Array(repeating: "{}", count: 101).joined(separator: ","))]}"#,
      "Number of notifications(101) over limit(100)"
    ),
  ])
  func `what cannot be understood is refused as a whole`(body: String, message: String?) async throws {
    let client = try await client(queue: "push:jobs:gorush-refused")
    let answer = try await client.send("POST", "/api/push", body)
    #expect(answer.status == 400)
    #expect(answer.json?["code"] == .integer(400))
    if let message { #expect(answer.json?["message"] == .string(message)) }
    await client.stop()
  }

  @Test func `every other fault is reported, and the rest is sent`() async throws {
    let queue = "push:jobs:gorush-faults"
    let client = try await client(queue: queue)
    let faults: [(String, String)] = [
      (#","badge":"5""#, "badge: expected an integer from 0 to 253402300799999"),
      (
        #","message":"m","expiration":1795900000000"#,
        "expiration: looks like unix milliseconds; give unix seconds, 1795900000"
      ),
      (#","alert":"text""#, "alert: expected an object"),
      (#","alert":{"loc-args":["a",1]}"#, "loc-args: expected an array of strings"),
      (#","message":"m","priority":"urgent""#, "priority: expected normal or high"),
      (#","message":"m","data":{"aps":{}}"#, "data: must not contain the key aps"),
      (#","message":"m","topic":"a b""#, "app: expected 1 to 200 letters, digits or any of ._-"),
      (
        #","message":"m","collapse_id":"\#(String(repeating: "c", count: 65))""#,
        "collapseId: expected 1 to 64 bytes of UTF-8"
      ),
      (
        #","message":"m","push_type":"background","priority":"high""#, "priority: must be 5 when pushType is background"
      ),
      (#","message":"m","to":7"#, "to: expected a string"),
    ]
    for (members, error) in faults {
      let (counts, logs) = try await push(client, body(members))
      #expect(counts == .integer(0), "\(members)")
      #expect(logs.map { $0["error"] } == [.string(error)], "\(members)")
      #expect(logs[0]["type"] == .string("failed-push"))
    }
    let large = #","message":"\#(String(repeating: "m", count: 4096))""#
    #expect(try await push(client, body(large)).logs[0]["error"]?.string?.hasPrefix("PayloadTooLarge") == true)
    let mixed = try await push(
      client,
      #"{"notifications":[7,{"platform":1,"notif_id":"n","message":"m"},{"platform":1,"tokens":["short","\#(Self.token)"],"message":"m"}]}"#
    )
    #expect(mixed.counts == .integer(1))
    #expect(mixed.logs.map { $0["token"] } == [.string(""), .string(""), .string("short")])
    #expect(mixed.logs[1]["notif_id"] == .string("n"))
    #expect(try await jobs(client, queue).count == 1)
    await client.stop()
  }

  @Test func `other platforms are reported for each token, ignored fields in one line`() async throws {
    let queue = "push:jobs:gorush-ignored"
    let client = try await client(queue: queue)
    let android = try await push(client, body(#","message":"m""#, tokens: ["a", "b"], platform: 2))
    #expect(android.counts == .integer(0))
    #expect(android.logs.map { $0["token"] } == [.string("a"), .string("b")])
    #expect(android.logs.allSatisfy { $0["platform"] == .string("android") })
    let topic = #"{"notifications":[{"topic":"news","platform":3,"message":"m"}]}"#
    #expect(try await push(client, topic).logs.map { $0["platform"] } == [.string("huawei")])
    let members =
      #","message":"m","apns_id":"x","production":true,"retry":3,"image":"i","alert":{"body":"b","colour":"red"}"#
    let (counts, logs) = try await push(client, body(members))
    #expect(counts == .integer(1))
    #expect(logs.map { $0["type"] } == [.string("ignored-fields")])
    #expect(logs[0]["error"] == .string("ignored: apns_id, image, alert.colour"))
    #expect(logs[0]["message"] == .string("m"))
    await client.stop()
  }

  @Test func `many tokens are several jobs`() async throws {
    let queue = "push:jobs:gorush-many"
    let client = try await client(queue: queue)
    let tokens = (0..<900).map { client.token("\($0)") }
    let answer = try await push(client, body(#","message":"m","notif_id":"sale""#, tokens: tokens))
    #expect(answer.counts == .integer(900))
    let jobs = try await jobs(client, queue)
    let ids = jobs.compactMap { $0["id"]?.string }
    #expect(ids.map { $0.split(separator: ":").last } == ["sale", "sale-1"])
    #expect(jobs.flatMap { $0["to"]?["tokens"]?.array ?? [] } == tokens.map(JSONValue.string))
    await client.stop()
  }

  @Test func `limits count jobs, not requests`() async throws {
    func notifications(_ count: Int) -> String {
      let one = #"{"tokens":["\#(Self.token)"],"platform":1,"message":"m"}"#
      return #"{"notifications":[\#(Array(repeating: one, count: count).joined(separator: ","))]}"#
    }
    let queue = "push:jobs:gorush-weights"
    let key = try await client(.key, queue: queue, quota: KeyQuota(perSecond: 1000, burst: 1000, perDay: 10))
    for (count, status) in [(6, 200), (6, 429), (4, 200), (1, 429)] {
      #expect(try await key.send("POST", "/api/push", notifications(count)).status == status, "\(count)")
    }
    #expect(try await key.fixture.run("HGET", "martlet:{allowance}:\(key.keyName)", "count").string == "10")
    #expect(try await jobs(key, queue).count == 10)
    await key.stop()
    let open = try await client(.open, queue: queue) {
      $0.broadcastLimit = WindowLimit(10, per: .seconds(3600))
      _ = $0.listener.trustedProxies.add("127.0.0.1")
    }
    let address = ["X-Forwarded-For": "203.0.113.150"]
    for (count, status) in [(6, 200), (6, 429), (4, 200), (1, 429)] {
      #expect(try await open.fixture.request("POST", "/api/push", address, body: notifications(count)).status == status)
    }
    await open.stop()
  }

  @Test func `a usual batch of 1,000 tokens is taken, and each job fits its queue`() async throws {
    let queue = "push:jobs:gorush-large"
    let client = try await client(queue: queue)
    let tokens = (0..<1000).map { client.token("\($0)") }
    #expect(try await push(client, body(#","message":"m""#, tokens: tokens)).counts == .integer(1000))
    let long = (0..<500).map { client.token("\($0)") + String(repeating: "0", count: 448) }
    let answer = try await push(client, body(#","message":"m""#, tokens: long))
    #expect(answer.counts == .integer(500), "\(answer.logs)")
    let elements = try await client.fixture.run("LRANGE", queue, "0", "-1").array ?? []
    #expect(elements.allSatisfy { ($0.bytes?.count ?? .max) <= Job.maximumBytes })
    let enqueued = try await jobs(client, queue).flatMap { $0["to"]?["tokens"]?.array ?? [] }
    #expect(enqueued == (tokens + long).map(JSONValue.string))
    #expect(try await client.send("POST", "/api/push", bytes: padded(#""x":1"#, to: 1 << 20 + 1)).status == 413)
    await client.stop()
  }

  @Test func `an answer lists at most 1,000 faults, and says how many there are`() async throws {
    let client = try await client(queue: "push:jobs:gorush-logs")
    let android = body(#","message":"m""#, tokens: Array(repeating: "", count: 5000), platform: 2)
    let logs = try await push(client, android).logs
    #expect(logs.count == 1001)
    #expect(logs.last?["error"]?.string?.contains("4000") == true)
    await client.stop()
  }

  // MARK: - Ids

  @Test func `a notif_id names a job of its own key, and is shown as it was sent`() async throws {
    let queue = "push:jobs:gorush-ids"
    let client = try await client(.key, queue: queue)
    let other = client.unique("other")
    try await client.allow(other, secret: other, scopes: [.jobs])
    let long = String(repeating: "n", count: 128)
    var ids: [[String]] = []
    for (secret, id) in [(client.key, "n"), (client.key, "n"), (other, "n"), (client.key, long), (other, long)] {
      _ = try await client.fixture.run("DEL", queue)
      let text = #"{"notifications":[\#(notification(id)),{"platform":1,"notif_id":"\#(id)","message":"m"}]}"#
      let answer = try await client.send("POST", "/api/push", text, ["X-API-Key": secret])
      #expect(answer.json?["counts"] == .integer(1))
      #expect(answer.json?["logs"]?.array?.map { $0["notif_id"] } == [.string(id)])
      ids.append(try await jobs(client, queue).compactMap { $0["id"]?.string })
    }
    #expect(ids.allSatisfy { $0.count == 1 && Job.isID($0[0]) })
    #expect(ids[0] == ids[1])
    #expect(Set(ids).count == 4)
    #expect(!ids.contains(["n"]) && !ids.contains([long]))
    #expect(ids[0][0].hasSuffix(":n"))
    await client.stop()
  }

  @Test func `without a key no notif_id names a job that is there already`() async throws {
    let queue = "push:jobs:gorush-nobody"
    let client = try await client(queue: queue)
    for _ in 0..<2 { _ = try await push(client, #"{"notifications":[\#(notification("n"))]}"#) }
    let ids = try await jobs(client, queue).compactMap { $0["id"]?.string }
    #expect(ids.count == 2 && Set(ids).count == 2 && !ids.contains("n"))
    #expect(ids.allSatisfy { Job.isID($0) && $0.hasSuffix(":n") })
    await client.stop()
  }

  private func notification(_ id: String) -> String {
    #"{"tokens":["\#(Self.token)"],"platform":1,"notif_id":"\#(id)","message":"m"}"#
  }

  // MARK: - Statistics

  @Test func `the statistics are those of the fleet's last hours`() async throws {
    let client = try await client()
    let hour = try #require(try await client.fixture.run("TIME").array?[0].string.flatMap { Int64($0) }) / 3600
    func count(_ hour: Int64, _ field: String, _ amount: String) async throws {
      _ = try await client.fixture.run("HINCRBY", CounterKeys.hour(hour), field, amount)
    }
    for (field, amount) in [
      ("pushes:accepted", "5"), ("pushes:stale", "2"), ("jobs:accepted", "3"), ("jobs:dead", "1"),
    ] {
      try await count(hour, field, amount)
    }
    try await count(hour - 60, "pushes:accepted", "7")
    try await count(hour - 73, "pushes:accepted", "100")
    let json = try #require(try await client.send("GET", "/api/stat/app").json)
    #expect(json["version"] == .string("1.2.3"))
    #expect(json["total_count"] == .integer(14))
    #expect(json["ios"]?["push_success"] == .integer(12))
    #expect(json["ios"]?["push_error"] == .integer(2))
    #expect(json["success_tasks"] == .integer(3))
    #expect(json["failure_tasks"] == .integer(1))
    #expect(json["submitted_tasks"] == .integer(4))
    #expect(json["android"]?["push_success"] == .integer(0))
    await client.stop()
  }
}
