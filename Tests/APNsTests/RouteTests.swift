import EventLoop
import Testing

@testable import APNs

@EventLoop
struct RouteTests {
  @Test func `a parked route opens again when its time is over`() {
    let route = Route(environment: .sandbox, topic: "com.a")
    #expect(route.parkedNanoseconds(now: 1) == nil)
    route.park(until: 100, reason: "TopicDisallowed")
    #expect(route.parkedNanoseconds(now: 40) == 60)
    #expect(route.parkedNanoseconds(now: 100) == nil)
  }

  @Test func `environment and topic together name a route`() {
    let table = RouteTable()
    let route = table.route(.sandbox, "com.a", now: 0)
    #expect(table.route(.sandbox, "com.a", now: 0) === route)
    #expect(table.route(.production, "com.a", now: 0) !== route)
    #expect(table.route(.sandbox, "com.b", now: 0) !== route)
    #expect(table.known(.sandbox, "com.a") === route)
    #expect(table.known(.sandbox, "com.c") == nil)
  }

  @Test func `a flood of topics is forgotten but for the parked ones`() {
    let table = RouteTable()
    let parked = table.route(.production, "parked", now: 0)
    parked.park(until: 1000, reason: "TopicDisallowed")
    for number in 0...RouteTable.maximumRoutes { _ = table.route(.production, "topic\(number)", now: 1) }
    #expect(table.known(.production, "topic0") == nil)
    #expect(table.known(.production, "parked") === parked)
  }
}
