import Testing

@testable import Martlet

struct GroupReadinessTests {
  private func answer(
    _ status: Int, redis: String = "ok", apns: String = "ok", stopping: Bool = false, routes: String = ""
  ) -> GroupReadiness.State {
    let body = """
      {"ready":\(status == 200),"redis":"\(redis)","apns":"\(apns)","stopping":\(stopping),"pausedRoutes":[\(routes)]}

      """
    return .answered(status: status, body: Array(body.utf8))
  }

  private func merged(_ states: GroupReadiness.State...) -> (status: Int, body: String) {
    let readiness = GroupReadiness(states: states)
    return (readiness.status, String(decoding: readiness.body, as: UTF8.self))
  }

  @Test func `it is ready while one process is, and names the others`() {
    let (status, body) = merged(answer(503, redis: "unreachable"), answer(200), .silent, .waiting)
    #expect(status == 200)
    #expect(
      body == #"{"ready":true,"redis":"ok","apns":"ok","stopping":false,"pausedRoutes":[],"processes":{"running":3,"#
        + #""ready":1,"notReady":[{"process":1,"state":"redis unreachable"},{"process":3,"state":"does not answer"},"#
        + #"{"process":4,"state":"ended, waits for its restart"}]}}"# + "\n")
  }

  @Test func `without a ready process it is not ready`() {
    #expect(merged(answer(503, redis: "unreachable", apns: "unreachable")).status == 503)
    let (status, body) = merged(.waiting, .silent)
    #expect(status == 503)
    #expect(body.hasPrefix(#"{"ready":false,"redis":"unknown","apns":"unknown","stopping":false,"#))
  }

  @Test func `it is stopping when all are, and reaches what one of them reaches`() {
    #expect(merged(answer(503, stopping: true), answer(200)).body.contains(#""stopping":false"#))
    #expect(merged(answer(503, stopping: true)).body.contains(#""stopping":true"#))
    #expect(merged(answer(503, stopping: true)).body.contains(#"{"process":1,"state":"stopping"}"#))
    #expect(merged(answer(200, apns: "unreachable"), answer(200)).body.contains(#""apns":"ok""#))
    #expect(merged(answer(200, apns: "not configured")).body.contains(#""apns":"not configured""#))
  }

  @Test func `a route that several processes have paused is listed once`() {
    func route(_ topic: String, _ since: Int) -> String {
      #"{"environment":"production","topic":"\#(topic)","reason":"Forbidden","since":\#(since)}"#
    }
    let (status, body) = merged(
      answer(200, routes: route("a", 7)), answer(200, routes: route("b", 6) + "," + route("a", 5)))
    #expect(status == 200)
    #expect(body.contains(#""pausedRoutes":[\#(route("a", 5)),\#(route("b", 6))]"#))
  }

  @Test func `an answer that is no JSON is not ready`() {
    let (status, body) = merged(.answered(status: 503, body: Array("?".utf8)))
    #expect(status == 503)
    #expect(body.contains(#"{"process":1,"state":"not ready"}"#))
  }
}
