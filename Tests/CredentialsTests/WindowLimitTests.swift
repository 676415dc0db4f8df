import EventLoop
import Redis
import Registry
import RegistrySupport
import Testing
@testable import Credentials

/// Actions counted in Redis within a window.
@EventLoop
struct WindowLimitTests {
  private let limit = WindowLimit(3, per: .seconds(100))

  @Test func `actions over the limit are not counted and do not extend the window`() async throws {
    let fixture = try await Fixture()
    let limiter = RateLimiter(connection: fixture.redis)
    var counts: [Int] = []
    for _ in 1...5 { counts.append(try await limiter.count(.testPush, of: "over", limit).count) }
    #expect(counts == [1, 2, 3, 4, 4])
    #expect(try await fixture.run("GET", "martlet:{limit}:test:over").string == "3")
    #expect((1...100).contains(try await fixture.run("TTL", "martlet:{limit}:test:over").integer ?? 0))
  }

  @Test func `a request counts its weight, whole or not at all, and one over the limit passes alone`() async throws {
    let fixture = try await Fixture()
    let limiter = RateLimiter(connection: fixture.redis)
    func count(_ subject: String, _ weight: Int) async throws -> WindowCount {
      try await limiter.count([(.broadcast, subject, limit, weight)])[0]
    }
    for (weight, isOver) in [(2, false), (2, true), (1, false), (1, true)] {
      #expect(try await count("weight", weight).isOver == isOver)
    }
    #expect(try await fixture.run("GET", "martlet:{limit}:broadcast:weight").string == "3")
    for (weight, isOver) in [(7, false), (1, true)] { #expect(try await count("heavy", weight).isOver == isOver) }
    // Of several subjects all count, or none.
    let both = try await limiter.count([(.broadcast, "light", limit, 1), (.broadcast, "weight", limit, 1)])
    #expect(both.map(\.isOver) == [false, true])
    #expect(try await fixture.run("EXISTS", "martlet:{limit}:broadcast:light").integer == 0)
  }

  @Test func `a heavy request of a key is paid for by waiting, and counts for its day`() async throws {
    let fixture = try await Fixture()
    let limiter = RateLimiter(connection: fixture.redis)
    let quota = KeyQuota(perSecond: 1, burst: 10, perDay: 100)
    func take(_ name: String, _ weight: Int) async throws -> RateDecision {
      try await limiter.take(name, quota, weight: weight)
    }
    #expect(try await take("heavy", 50) == .admitted)
    guard case .tooFast(let wait) = try await take("heavy", 1) else { return #expect(Bool(false), "admitted") }
    #expect((35...41).contains(wait))
    // The wait is over. The day has room for 50.
    let key = "martlet:{allowance}:heavy"
    _ = try await fixture.run("HSET", key, "millionths", "10000000")
    guard case .dayUsedUp = try await take("heavy", 51) else { return #expect(Bool(false), "admitted") }
    #expect(try await take("heavy", 50) == .admitted)
    #expect(try await fixture.run("HGET", key, "count").string == "100")
    #expect(try await take("heavier", 1000) == .admitted)
  }

  @Test func `actions and subjects are counted separately`() async throws {
    let fixture = try await Fixture()
    let limiter = RateLimiter(connection: fixture.redis)
    for action in [LimitedAction.registration, .testPush, .broadcast, .failure] {
      for subject in ["apart-a", "apart-b"] {
        #expect(try await limiter.count(action, of: subject, limit).count == 1)
      }
    }
  }

  @Test func `a count that is not a number or has no expiry starts anew`() async throws {
    let fixture = try await Fixture()
    let limiter = RateLimiter(connection: fixture.redis)
    for value in ["many", "7"] {
      _ = try await fixture.run("SET", "martlet:{limit}:register:odd", value)
      #expect(try await limiter.count(.registration, of: "odd", limit).count == 1)
      #expect((1...100).contains(try await fixture.run("TTL", "martlet:{limit}:register:odd").integer ?? 0))
    }
  }

  @Test(arguments: [
    (Duration.milliseconds(1), 1), (.zero, 1), (.milliseconds(1000), 1), (.milliseconds(1001), 2), (.seconds(60), 60),
  ])
  func `a wait is reported in whole seconds`(left: Duration, seconds: Int) {
    #expect(WindowCount.seconds(left) == seconds)
  }
}
