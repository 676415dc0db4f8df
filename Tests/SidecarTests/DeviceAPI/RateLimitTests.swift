import EventLoop
import HTTPServer
import JSON
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Credentials

/// The quota of an API key, over all sidecars.
@EventLoop
struct RateLimitTests {
  /// Returns the time of Redis in seconds.
  private func now(_ client: APIClient) async throws -> Double {
    let time = try await client.fixture.run("TIME").array?.compactMap(\.string).compactMap(Double.init) ?? []
    return try #require(time.first) + (time.last ?? 0) / 1_000_000
  }

  @Test func `two sidecars share one limit`() async throws {
    let quota = KeyQuota(perSecond: 2, burst: 5, perDay: 1000)
    let client = try await APIClient(quota: quota)
    let second = try await SidecarFixture()
    let path = "/devices?userId=\(client.unique("limited"))"
    let start = try await now(client)
    var admitted = 0
    var refused = 0
    for index in 0..<60 {
      let port = index % 2 == 0 ? client.fixture.sidecar.port : second.sidecar.port
      let answer = try await WebAnswer.ask(port: port, "GET", path, ["X-API-Key": client.key])
      if answer.status == 200 {
        admitted += 1
        continue
      }
      refused += 1
      answer.isError(429, "Too many requests")
      answer.isCrossOrigin()
      #expect(answer.headers["retry-after"] == "1")
      #expect(answer.json?["message"]?.string?.contains("2 requests a second") == true)
    }
    let passed = try await now(client) - start
    #expect(admitted >= quota.burst)
    #expect(Double(admitted) <= Double(quota.burst) + passed * Double(quota.perSecond))
    #expect(admitted + refused == 60)
    // A preflight does not count and is not refused.
    #expect(try await second.request("OPTIONS", "/devices").status == 204)
    await client.stop()
    await second.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a key that has waited is admitted again`() async throws {
    let client = try await APIClient(quota: KeyQuota(perSecond: 1, burst: 1, perDay: 1000))
    let path = "/devices?userId=\(client.unique("patient"))"
    #expect(try await client.send("GET", path).status == 200)
    // Move the allowance's last request back by a second.
    let key = "martlet:{allowance}:\(client.keyName)"
    let at = Int(try #require(try await client.fixture.run("HGET", key, "at").string)) ?? 0
    _ = try await client.fixture.run("HSET", key, "at", String(at - 1_000_000))
    #expect(try await client.send("GET", path).status == 200)
    await client.stop()
  }

  @Test func `admitted requests count until the end of the day`() async throws {
    let client = try await APIClient(quota: KeyQuota(perSecond: 1000, burst: 1000, perDay: 3))
    let path = "/devices?userId=\(client.unique("daily"))"
    for _ in 0..<3 { #expect(try await client.send("GET", path).status == 200) }
    for _ in 0..<2 {
      let answer = try await client.send("GET", path)
      answer.isError(429, "Too many requests")
      let seconds = try #require(answer.headers["retry-after"].flatMap { Int($0) })
      #expect((1...86_400).contains(seconds))
      #expect(answer.json?["message"]?.string?.contains("3 requests a day") == true)
    }
    let key = "martlet:{allowance}:\(client.keyName)"
    #expect(try await client.fixture.run("HGET", key, "count").string == "3")
    let day = Int(try #require(try await client.fixture.run("HGET", key, "day").string)) ?? 0
    _ = try await client.fixture.run("HSET", key, "day", String(day - 1))
    #expect(try await client.send("GET", path).status == 200)
    #expect(try await client.fixture.run("HGET", key, "count").string == "1")
    #expect(try await client.fixture.run("TTL", key).integer ?? 0 > 86_400)
    await client.stop()
  }

  @Test func `each key has its own allowance, and an invalid key uses no allowance`() async throws {
    let client = try await APIClient(quota: KeyQuota(perSecond: 0, burst: 1, perDay: 10))
    let other = client.unique("other-secret")
    try await client.allow(client.unique("other"), secret: other, quota: KeyQuota(perSecond: 0, burst: 1, perDay: 10))
    let path = "/devices?userId=\(client.unique("many"))"
    #expect(try await client.send("GET", path, nil, ["X-API-Key": "wrong"]).status == 401)
    #expect(try await client.send("GET", path).status == 200)
    #expect(try await client.send("GET", path).status == 429)
    #expect(try await client.send("GET", path, nil, ["X-API-Key": other]).status == 200)
    await client.stop()
  }
}
