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
@testable import Credentials

/// A client that fails to authenticate too often is refused.
@EventLoop
struct GuessingTests {
  private func fixture(
    _ limit: Int = 5, server: RedisServer? = nil, log: Log = .silent,
    _ adapt: @escaping (inout SidecarConfiguration) -> Void = { _ in }
  ) async throws -> SidecarFixture {
    let settings: (inout SidecarConfiguration) -> Void = {
      $0.failureLimit = WindowLimit(limit, per: .seconds(3600))
      _ = $0.listener.trustedProxies.add("127.0.0.1")
      adapt(&$0)
    }
    return try await SidecarFixture(settings, server: server, log: log)
  }

  private func from(_ address: String, _ headers: [String: String]) -> [String: String] {
    headers.merging(["X-Forwarded-For": address]) { _, new in new }
  }

  private func wrong(_ good: [String: String]) -> [String: String] {
    good.merging(["Authorization": "Bearer wrong"]) { _, new in new }
  }

  private func isBlocked(_ answer: WebAnswer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.status == 429, sourceLocation: sourceLocation)
    let seconds = answer.headers["retry-after"].flatMap { Int($0) } ?? 0
    #expect((1...3600).contains(seconds), "\(answer.headers)", sourceLocation: sourceLocation)
  }

  @Test func `after too many failures only that client is refused, even with the right secret`() async throws {
    let fixture = try await fixture()
    let good = try await fixture.user("guess-alice")
    for _ in 1...5 {
      let answer = try await fixture.push("unregister", from("203.0.113.1", wrong(good)))
      #expect((answer.status, answer.error) == (401, "Unauthorized - invalid token"))
    }
    for headers in [wrong(good), good] {
      let origin = ["Origin": "http://localhost:3000"].merging(headers) { _, new in new }
      let answer = try await fixture.push("unregister", from("203.0.113.1", origin))
      isBlocked(answer)
      #expect(answer.body == #"{"error":"Too many requests"}"#)
      #expect(answer.headers["access-control-allow-origin"] == "http://localhost:3000")
      isBlocked(try await fixture.request("GET", "/notifications", from("203.0.113.1", headers)))
    }
    #expect(try await fixture.push("unregister", from("203.0.113.2", good)).status == 200)
    let bob = try await fixture.user("guess-bob")
    #expect(try await fixture.push("unregister", from("203.0.113.1", bob)).status == 200)
    let metrics = fixture.metrics.prometheusText()
    #expect(metrics.contains(#"martlet_auth_failures_total{kind="user"} 5"#))
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `the addresses of an IPv6 network count as one client`() async throws {
    let fixture = try await fixture()
    let good = try await fixture.user("guess-six")
    for index in 1...5 {
      #expect(try await fixture.push("unregister", from("2001:db8:1:2::\(index)", wrong(good))).status == 401)
    }
    isBlocked(try await fixture.push("unregister", from("2001:db8:1:2:ffff::1", good)))
    #expect(try await fixture.push("unregister", from("2001:db8:1:3::1", good)).status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `unknown and invalid names are limited like others`() async throws {
    let fixture = try await fixture()
    for name in ["guess-nobody", String(repeating: "x", count: 5000)] {
      let headers = from("203.0.113.3", ["Authorization": "Bearer wrong", "X-Username": name])
      for _ in 1...5 { #expect(try await fixture.push("unregister", headers).status == 401) }
      isBlocked(try await fixture.push("unregister", headers))
    }
    let keys = try await fixture.run("KEYS", "martlet:{limit}:failure:*").array?.compactMap(\.string) ?? []
    #expect(keys.allSatisfy { $0.utf8.count < 300 })
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `invalid API keys block the address on every route that requires one`() async throws {
    let fixture = try await fixture()
    try await fixture.allow(.key, "guess-key", secret: "guess-key-secret")
    for route in ["/devices?userId=x", "/newtoken", "/newpush", "/devices?userId=x", "/devices?userId=x"] {
      let method = route.hasPrefix("/new") ? "POST" : "GET"
      let answer = try await fixture.request(method, route, from("203.0.113.4", ["X-API-Key": "wrong"]))
      answer.isError(401, "Unauthorized")
    }
    for (method, route) in [("GET", "/devices?userId=x"), ("POST", "/newtoken"), ("POST", "/newpush")] {
      let headers = from("203.0.113.4", ["X-API-Key": "guess-key-secret"])
      let answer = try await fixture.request(method, route, headers, body: method == "POST" ? "{}" : nil)
      isBlocked(answer)
      answer.isError(429, "Too many requests")
      // A request without a key is not a failure.
      #expect(try await fixture.request(method, route, from("203.0.113.4", [:])).status == 401)
    }
    let other = from("203.0.113.5", ["X-API-Key": "guess-key-secret"])
    #expect(try await fixture.request("GET", "/devices?userId=x", other).status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test(arguments: [("POST", "/push/apns/register"), ("GET", "/events/since")])
  func `invalid device keys block the address for the named instance`(method: String, route: String) async throws {
    let fixture = try await fixture()
    let name = "guess-\(method)"
    try await fixture.allow(.instance, name, secret: name + "-device-key")
    let address = method == "GET" ? "203.0.113.6" : "203.0.113.7"
    func send(_ key: String, _ instance: String, from address: String) async throws -> WebAnswer {
      try await fixture.request(
        method, route, from(address, ["X-Nyra-Device-Key": key, "X-Nyra-Instance-Id": instance]),
        body: method == "POST" ? "{}" : nil)
    }
    for _ in 1...5 { #expect(try await send("wrong", name, from: address).body == #"{"error":"unauthorized"}"#) }
    let answer = try await send(name + "-device-key", name, from: address)
    isBlocked(answer)
    #expect(answer.body == #"{"error":"rate_limited"}"#)
    #expect(try await send("wrong", "another", from: address).status == 401)
    #expect(try await send(name + "-device-key", name, from: "203.0.113.8").status != 429)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `naming many instances allows five times the limit and no more`() async throws {
    let fixture = try await fixture()
    try await fixture.allow(.instance, "guess-many", secret: "guess-many-device-key")
    func send(_ key: String, _ instance: String, from address: String = "203.0.113.15") async throws -> WebAnswer {
      try await fixture.request(
        "GET", "/events/since", from(address, ["X-Nyra-Device-Key": key, "X-Nyra-Instance-Id": instance]))
    }
    for index in 0..<25 { #expect(try await send("wrong", "made-up-\(index)").status == 401) }
    isBlocked(try await send("wrong", "made-up-25"))
    isBlocked(try await send("guess-many-device-key", "guess-many"))
    #expect(try await send("guess-many-device-key", "guess-many", from: "203.0.113.16").status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `naming many users allows five times the limit and no more`() async throws {
    let fixture = try await fixture()
    let good = try await fixture.user("guess-crowd")
    func guess(_ index: Int, from address: String) async throws -> Int {
      let headers = ["Authorization": "Bearer wrong", "X-Username": "guess-made-up-\(index)"]
      return try await fixture.push("unregister", from(address, headers)).status
    }
    for index in 0...25 { #expect(try await guess(index, from: "203.0.113.17") == (index < 25 ? 401 : 429)) }
    isBlocked(try await fixture.push("unregister", from("203.0.113.17", good)))
    #expect(try await fixture.push("unregister", from("203.0.113.18", good)).status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test(arguments: ["user", "key"])
  func `the networks of an IPv6 site count together, five times the limit`(kind: String) async throws {
    let fixture = try await fixture()
    func guess(_ network: Int, site: Int = 0xab00) async throws -> Int {
      let address = "2001:db8:\(kind == "user" ? 5 : 6):\(String(site + network, radix: 16))::1"
      let headers = ["Authorization": "Bearer wrong", "X-Username": "guess-site", "X-API-Key": "wrong"]
      let path = kind == "user" ? "/notifications" : "/devices?userId=x"
      return try await fixture.request("GET", path, from(address, headers)).status
    }
    for network in 0..<25 { #expect(try await guess(network) == 401) }
    #expect(try await guess(0xff) == 429)
    #expect(try await guess(0, site: 0xac00) == 401)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `concurrent requests do not allow more guesses`() async throws {
    let fixture = try await fixture()
    let headers = from("203.0.113.9", wrong(try await fixture.user("guess-flood")))
    let requests = (0..<40).map { _ in Task { try await fixture.push("unregister", headers).status } }
    var statuses: [Int] = []
    for request in requests { statuses.append(try await request.value) }
    #expect(statuses.count { $0 == 401 } == 5)
    #expect(statuses.count { $0 == 429 } == 35)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `all sidecars count together`() async throws {
    let (first, second) = (try await fixture(), try await fixture())
    let good = try await first.user("guess-fleet")
    let headers = from("203.0.113.10", wrong(good))
    for fixture in [first, second, first, second, first] {
      #expect(try await fixture.push("unregister", headers).status == 401)
    }
    // The second sidecar learns the count with its next failure.
    for fixture in [second, first, second] { isBlocked(try await fixture.push("unregister", headers)) }
    isBlocked(try await second.push("unregister", from("203.0.113.10", good)))
    for fixture in [first, second] { await fixture.sidecar.stop(grace: .seconds(1)) }
  }

  @Test func `a block survives if Redis is full, loses its counts or stops`() async throws {
    let server = try await RedisServer()
    let fixture = try await fixture(server: server)
    let headers = from("203.0.113.11", wrong(try await fixture.user("guess-full")))
    let key = "martlet:{limit}:failure:user:203.0.113.11:guess-full"
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    for _ in 1...3 { #expect(try await fixture.push("unregister", headers).status == 401) }
    #expect(try await fixture.run("GET", key).string == "3")
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "0")
    _ = try await fixture.run("DEL", key)
    for _ in 1...2 { #expect(try await fixture.push("unregister", headers).status == 401) }
    isBlocked(try await fixture.push("unregister", headers))
    try await server.kill()
    isBlocked(try await fixture.push("unregister", headers))
    await fixture.sidecar.stop(grace: .seconds(1))
    try await server.stop()
  }

  @Test func `an authenticated request costs Redis no further command`() async throws {
    let server = try await RedisServer()
    let fixture = try await fixture(server: server)
    let good = from("203.0.113.12", try await fixture.user("guess-cost"))
    // The first one in a minute is noted as the last use.
    #expect(try await fixture.request("GET", "/notifications", good).status == 200)
    _ = try await fixture.run("CONFIG", "RESETSTAT")
    #expect(try await fixture.request("GET", "/notifications", good).status == 200)
    let stats = try await fixture.run("INFO", "commandstats").string ?? ""
    let commands = stats.split(whereSeparator: \.isNewline).compactMap { line -> String? in
      guard line.hasPrefix("cmdstat_"), let colon = line.firstIndex(of: ":") else { return nil }
      return String(line[..<colon].dropFirst("cmdstat_".count))
    }
    // Redis 6 counts CONFIG without its subcommand.
    #expect(Set(commands).subtracting(["config", "config|resetstat", "info"]) == ["hget", "xrange"])
    await fixture.sidecar.stop(grace: .seconds(1))
    try await server.stop()
  }

  @Test func `failures are logged once a minute, without the secret`() async throws {
    let lines = LogLines()
    let fixture = try await fixture(log: lines.log(level: .debug, isText: true))
    let headers = ["Authorization": "Bearer a-guessed-secret", "X-Username": "guess-log"]
    for _ in 1...10 { _ = try await fixture.push("unregister", from("203.0.113.13", headers)) }
    await fixture.sidecar.stop(grace: .seconds(1))
    let written = lines.lines
    #expect(written.count { $0.contains("authentication failed") && $0.contains("addresses=203.0.113.13") } == 1)
    #expect(!written.contains { $0.contains("a-guessed-secret") })
  }

  @Test func `without a limit no client is blocked`() async throws {
    let fixture = try await fixture { $0.failureLimit = nil }
    let headers = from("203.0.113.14", ["Authorization": "Bearer wrong", "X-Username": "guess-off"])
    for _ in 1...10 { #expect(try await fixture.push("unregister", headers).status == 401) }
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}
