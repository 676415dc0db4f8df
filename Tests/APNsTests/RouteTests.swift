import EventLoop
import Testing

@testable import APNs
@testable import PushModel

@EventLoop
struct RouteTests {
  @Test func `a paused route lets one probe through at a time`() {
    let route = Route(environment: .sandbox, topic: "com.a")
    #expect(route.admits(now: 1))
    #expect(route.pause(reason: "TopicDisallowed", since: 0, now: 0, nextProbeAt: 100))
    #expect(!route.admits(now: 40))
    #expect(!route.takeProbe(now: 40, next: 140))
    #expect(route.admits(now: 100))
    #expect(route.takeProbe(now: 100, next: 200))
    #expect(!route.takeProbe(now: 101, next: 201))
    #expect(!route.pause(reason: "TopicDisallowed", since: 0, now: 0, nextProbeAt: 300), "already paused")
    #expect(!route.admits(now: 200))
    route.resume()
    #expect(route.admits(now: 200))
  }

  @Test func `environment and topic identify a route`() {
    let table = RouteTable()
    let route = table.route(.sandbox, "com.a")
    #expect(table.route(.sandbox, "com.a") === route)
    #expect(table.route(.production, "com.a") !== route)
    #expect(table.route(.sandbox, "com.b") !== route)
    #expect(table.known(.sandbox, "com.a") === route)
    #expect(table.known(.sandbox, "com.c") == nil)
  }

  @Test func `healthy routes are forgotten before paused ones`() {
    let table = RouteTable()
    let paused = table.route(.production, "paused")
    #expect(paused.pause(reason: "TopicDisallowed", since: 0, now: 0, nextProbeAt: 1000))
    for number in 0...RouteTable.maximumRoutes { _ = table.route(.production, "topic\(number)") }
    #expect(table.known(.production, "topic0") == nil)
    #expect(table.known(.production, "paused") === paused)
  }

  @Test func `in a table full of paused routes those paused most recently are kept`() {
    let table = RouteTable()
    for number in 0..<RouteTable.maximumRoutes {
      #expect(
        table.route(.production, "topic\(number)").pause(reason: "X", since: Int64(number), now: 0, nextProbeAt: 1000))
    }
    _ = table.route(.production, "new")
    #expect(table.known(.production, "topic0") == nil)
    #expect(table.known(.production, "topic\(RouteTable.maximumRoutes - 1)")?.isPaused == true)
    #expect(table.known(.production, "topic\(RouteTable.maximumRoutes - RouteTable.keptRoutes)")?.isPaused == true)
  }

  @Test func `a refusal that says nothing about the token does not count`() {
    let route = Route(environment: .production, topic: "com.a")
    func record(_ number: Int, _ reason: String, _ evidence: TokenEvidence) {
      let push = TestPush.make(owner: .user("user\(number)"), evidence: evidence)
      _ = route.recordToken(of: push, isSuspect: true, reason: reason)
    }
    for number in 0..<100 {
      record(number, "BadDeviceToken", TokenEvidence(ofEnvironment: false, ofTopic: true))
      record(number, "DeviceTokenNotForTopic", TokenEvidence(ofEnvironment: true, ofTopic: false))
    }
    #expect(!route.isRemovalStopped)
    for number in 0..<100 {
      record(number, "DeviceTokenNotForTopic", TokenEvidence(ofEnvironment: false, ofTopic: true))
    }
    #expect(route.isRemovalStopped)
  }

  @Test func `anonymous devices never stop the removal of users' devices`() {
    let route = Route(environment: .production, topic: "com.a")
    var changes = 0
    for number in 0..<1000 {
      let push = TestPush.make(token: "ab\(number)")
      changes += route.recordToken(of: push, isSuspect: true, reason: "BadDeviceToken") ? 1 : 0
    }
    #expect(changes == 1)
    #expect(route.isRemovalStopped(for: TestPush.make()))
    #expect(!route.isRemovalStopped(for: TestPush.make(owner: .user("alice"))))
    #expect(!route.isRemovalStopped(for: TestPush.make(owner: .instance("alice"))))
    #expect(route.removalStop?.reason == "BadDeviceToken")
  }

  @Test func `tokens that are not registered stop no removal, and if most are refused none of them is called gone`() {
    let route = Route(environment: .production, topic: "com.a")
    for number in 0..<1000 {
      let push = TestPush.make(token: "ab\(number)", owner: .unregistered)
      #expect(!route.recordToken(of: push, isSuspect: true, reason: "BadDeviceToken"))
    }
    #expect(!route.isRemovalStopped && route.removalStop == nil)
    #expect(!route.isRemovalStopped(for: TestPush.make()))
    #expect(!route.isRemovalStopped(for: TestPush.make(owner: .user("alice"))))
    #expect(route.isRemovalStopped(for: TestPush.make(owner: .unregistered)))
  }
}
