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
