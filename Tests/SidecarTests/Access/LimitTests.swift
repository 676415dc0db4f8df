import PushModel
import Crypto
import EventLoop
import HTTPServer
import JSON
import Redis
import Registry
import Sidecar
import SidecarSupport
import Telemetry
import Testing
import TestSupport
@testable import Jobs
@testable import Credentials

/// The limits of users, instances and API keys within a window, over all sidecars.
@EventLoop
struct LimitTests {
  private static let window = Duration.seconds(3600)

  private func isLimited(_ answer: WebAnswer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.status == 429, sourceLocation: sourceLocation)
    let seconds = answer.headers["retry-after"].flatMap { Int($0) } ?? 0
    #expect((1...3600).contains(seconds), "\(answer.headers)", sourceLocation: sourceLocation)
  }

  private func register(_ fixture: SidecarFixture, _ user: [String: String], _ name: String) async throws -> WebAnswer {
    try await fixture.push("register", user, #"{"token":"\#(fixture.token(name))"}"#)
  }

  @Test func `the registrations of a user are limited over all sidecars, and those of others are not`() async throws {
    let limit: (inout SidecarConfiguration) -> Void = { $0.registrationLimit = WindowLimit(3, per: Self.window) }
    let (first, second) = (try await SidecarFixture(limit), try await SidecarFixture(limit))
    let (alice, bob) = (try await first.user("limit-alice"), try await first.user("limit-bob"))
    // A request that is refused for another reason does not count.
    for _ in 1...5 { #expect(try await first.push("register", alice, "{}").status == 400) }
    for fixture in [first, second, first] {
      #expect(try await register(fixture, alice, "limit-alice").status == 200)
    }
    for fixture in [first, second] {
      let answer = try await register(fixture, alice, "limit-alice")
      isLimited(answer)
      #expect(answer.body == #"{"error":"Too many requests"}"#)
      #expect(answer.headers["vary"] == "Origin")
    }
    #expect(try await register(first, bob, "limit-bob").status == 200)
    #expect(try await first.push("unregister", alice).status == 200)
    // The window has passed.
    _ = try await first.run("DEL", "martlet:{limit}:register:user:limit-alice")
    #expect(try await register(first, alice, "limit-alice").status == 200)
    for fixture in [first, second] { await fixture.sidecar.stop(grace: .seconds(1)) }
  }

  @Test func `a window ends by the clock of Redis, even if requests continue`() async throws {
    let fixture = try await SidecarFixture { $0.registrationLimit = WindowLimit(1, per: Self.window) }
    let user = try await fixture.user("limit-window")
    let key = "martlet:{limit}:register:user:limit-window"
    #expect(try await register(fixture, user, "limit-window").status == 200)
    _ = try await fixture.run("EXPIRE", key, "1000")
    for _ in 1...3 { isLimited(try await register(fixture, user, "limit-window")) }
    #expect((1...1000).contains(try await fixture.run("TTL", key).integer ?? 0))
    // A count without an expiry, or with one beyond the window, starts anew.
    for command in ["PERSIST", "EXPIRE"] {
      if command == "PERSIST" { _ = try await fixture.run("PERSIST", key) }
      if command == "EXPIRE" { _ = try await fixture.run("EXPIRE", key, "9999999") }
      #expect(try await register(fixture, user, "limit-window").status == 200)
      #expect((1...3600).contains(try await fixture.run("TTL", key).integer ?? 0))
    }
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `the registrations of an instance are limited, with the code of the document`() async throws {
    let fixture = try await SidecarFixture { $0.registrationLimit = WindowLimit(2, per: Self.window) }
    for name in ["limit-home", "limit-barn"] { try await fixture.allow(.instance, name, secret: name + "-device-key") }
    func register(_ name: String) async throws -> WebAnswer {
      try await fixture.request(
        "POST", "/push/apns/register", ["X-Nyra-Device-Key": name + "-device-key", "X-Nyra-Instance-Id": name],
        body: #"{"apns_device_token":"\#(SHA256.hex(name))","environment":"sandbox"}"#)
    }
    for _ in 1...2 { #expect(try await register("limit-home").status == 200) }
    let answer = try await register("limit-home")
    isLimited(answer)
    #expect(answer.body == #"{"error":"rate_limited"}"#)
    #expect(try await register("limit-barn").status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `the test pushes of a user are limited before anything is sent`() async throws {
    let sender = RecordingSender()
    let fixture = try await SidecarFixture(sender: sender) { $0.testLimit = WindowLimit(2, per: Self.window) }
    let (alice, bob) = (try await fixture.user("limit-tester"), try await fixture.user("limit-other"))
    #expect(try await register(fixture, alice, "limit-tester").status == 200)
    for _ in 1...2 { #expect(try await fixture.push("test", alice).status == 200) }
    let answer = try await fixture.push("test", alice)
    isLimited(answer)
    #expect(answer.body == #"{"error":"Too many requests"}"#)
    #expect(sender.calls.count == 2)
    #expect(try await fixture.push("test", bob).status == 400)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a test counts the devices that it is sent to`() async throws {
    let sender = RecordingSender()
    let fixture = try await SidecarFixture(sender: sender) { $0.testLimit = WindowLimit(3, per: Self.window) }
    let user = try await fixture.user("limit-phones")
    for phone in ["limit-phone-1", "limit-phone-2"] { #expect(try await register(fixture, user, phone).status == 200) }
    #expect(try await fixture.push("test", user).status == 200)
    isLimited(try await fixture.push("test", user))
    let one = fixture.token("limit-phone-1")
    #expect(try await fixture.push("test", user, #"{"token":"\#(one)"}"#).status == 200)
    isLimited(try await fixture.push("test", user, #"{"token":"\#(one)"}"#))
    #expect(sender.calls.count == 2)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `newtoken and newpush of a key are limited together, and nothing is enqueued over the limit`() async throws
  {
    let client = try await APIClient({ $0.broadcastLimit = WindowLimit(2, per: Self.window) })
    let other = client.unique("other-secret")
    try await client.allow(client.unique("other"), secret: other)
    let app = client.app("limited")
    let token = #"{"bundleId":"\#(app)","token":"\#(client.token("a"))"}"#
    let push = #"{"bundleId":"\#(app)","body":"Hello"}"#
    #expect(try await client.send("POST", "/newtoken", "{}").status == 400)
    #expect(try await client.send("POST", "/newtoken", token).status == 200)
    #expect(try await client.send("POST", "/newpush", push).status == 200)
    let queued = try await client.fixture.run("LLEN", "push:jobs").integer
    for (route, body) in [("/newpush", push), ("/newtoken", token)] {
      let answer = try await client.send("POST", route, body)
      isLimited(answer)
      answer.isError(429, "Too many requests")
    }
    #expect(try await client.fixture.run("LLEN", "push:jobs").integer == queued)
    #expect(try await client.send("POST", "/newtoken", token, ["X-API-Key": other]).status == 200)
    await client.stop()
  }

  @Test func `without required keys broadcasts are limited by client address`() async throws {
    let fixture = try await SidecarFixture {
      $0.broadcastLimit = WindowLimit(1, per: Self.window)
      $0.isBroadcastOpen = true
      _ = $0.listener.trustedProxies.add("127.0.0.1")
    }
    let body = #"{"bundleId":"com.example.open","token":"\#(fixture.token("open"))"}"#
    func register(from address: String) async throws -> WebAnswer {
      try await fixture.request("POST", "/newtoken", ["X-Forwarded-For": address], body: body)
    }
    #expect(try await register(from: "203.0.113.40").status == 200)
    isLimited(try await register(from: "203.0.113.40"))
    #expect(try await register(from: "203.0.113.41").status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a full Redis continues to count`() async throws {
    let server = try await RedisServer()
    let fixture = try await SidecarFixture(
      { $0.registrationLimit = WindowLimit(2, per: Self.window) }, server: server)
    let user = try await fixture.user("limit-full")
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    for _ in 1...2 { #expect(try await register(fixture, user, "limit-full").status != 429) }
    isLimited(try await register(fixture, user, "limit-full"))
    await fixture.sidecar.stop(grace: .seconds(1))
    try await server.stop()
  }
}

/// The bounds of a test push.
@EventLoop
struct TestPushBoundTests {
  @Test func `a test push goes to at most a thousand devices`() async throws {
    let sender = RecordingSender()
    let fixture = try await SidecarFixture(sender: sender)
    let user = try await fixture.user("bound-many")
    for index in 0..<1200 {
      let token = fixture.token("bound-\(index)")
      _ = try await fixture.run("SADD", RegistryKeys.userTokens("bound-many"), token)
      _ = try await fixture.run(
        "SET", RegistryKeys.token(entry: token), #"{"username":"bound-many","platform":"ios","updatedAt":1}"#)
    }
    let answer = try await fixture.push("test", user)
    #expect(answer["successCount"] == 1000)
    #expect(sender.calls.map(\.tokens.count) == [1000])
    #expect(try await fixture.members("bound-many").count == 1200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `test pushes of one user are sent one after the other, and at most eight wait`() async throws {
    let sender = HoldingSender()
    let fixture = try await SidecarFixture(sender: sender)
    let (alice, bob) = (try await fixture.user("turns-alice"), try await fixture.user("turns-bob"))
    for (user, name) in [(alice, "turns-alice"), (bob, "turns-bob")] {
      let answer = try await fixture.push("register", user, #"{"token":"\#(fixture.token(name))"}"#)
      #expect(answer.status == 200)
    }
    let alices = (0..<20).map { _ in Task { try await fixture.push("test", alice).status } }
    // One is being sent, eight wait, and the others are refused.
    try await eventually("eleven test pushes are refused") {
      fixture.metrics.prometheusText().contains(
        #"{method="POST",route="/api/push/test",status="429"} 11"#)
    }
    try await eventually("one is being sent") { sender.underWay == 1 }
    let bobs = Task { try await fixture.push("test", bob).status }
    try await eventually("another user's is sent at once") { sender.underWay == 2 }
    sender.release()
    var statuses = [try await bobs.value]
    for task in alices { statuses.append(try await task.value) }
    #expect(statuses.count { $0 == 200 } == 10)
    #expect(statuses.count { $0 == 429 } == 11)
    #expect(sender.largest == 2)
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

/// A sender that does not return until it is released.
@EventLoop
private final class HoldingSender: DirectSender {
  let isConnected = true
  private(set) var underWay = 0
  private(set) var largest = 0
  private var isReleased = false
  private var held: [CheckedContinuation<Void, Never>] = []

  func send(_ payload: [UInt8], to devices: [Device], concurrency: Int) async -> DirectReport {
    underWay += 1
    largest = max(largest, underWay)
    if !isReleased { await withCheckedContinuation { held.append($0) } }
    underWay -= 1
    return DirectReport(results: [], staleRemoved: 0)
  }

  func release() {
    isReleased = true
    for continuation in held { continuation.resume() }
    held = []
  }
}
