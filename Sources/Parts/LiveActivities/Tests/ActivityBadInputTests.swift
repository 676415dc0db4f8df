import EventLoop
import HTTPServer
import JSON
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import LiveActivities
@testable import Credentials
@testable import PushModel

/// What the activity API refuses.
@EventLoop
struct ActivityBadInputTests {
  private func fixture() async throws -> SidecarFixture {
    try await SidecarFixture {
      $0.bundleID = "com.push.app"
      $0.apis = [{ ActivityAPI($0) }]
    }
  }

  @Test(arguments: [
    ("/activities/a%20b", "Invalid activity id"), ("/activities/x:tokens", "Invalid activity id"),
    ("/activities/%00", "Invalid activity id"), ("/activities/%C3%A9", "Invalid activity id"),
    ("/activities/\(String(repeating: "x", count: 129))", "Invalid activity id"),
    ("/activities/types/A%3CB%3E", "Invalid attributesType"), ("/activities/types/a:b", "Invalid attributesType"),
  ])
  func `an id that no activity has, and a name that no type has, are refused`(path: String, error: String) async throws
  {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("bad-id"), try await fixture.user("bad-id"))
    for method in ["PUT", "DELETE"] {
      let answer = try await fixture.request(method, path, alice, body: #"{"token":"\#(token)"}"#)
      #expect(answer.status == 400)
      #expect(answer.body == #"{"error":"\#(error)"}"#)
    }
    #expect(try await fixture.metadata(token) == nil)
  }

  @Test(arguments: [
    (#""token":"short""#, "Invalid push token format"), (#""token":" ""#, "Invalid push token format"),
    (#""x":1"#, "Push token is required"), (#""token":"T","kind":"app""#, "Invalid kind"),
    (#""token":"T","environment":"staging""#, "Invalid environment"),
    (#""token":"T","deviceId":"a b""#, "Invalid deviceId"), (#""token":"T","bundleId":"a/b""#, "Invalid bundleId"),
    (#""token":"T","frequentPushesEnabled":1"#, "Invalid frequentPushesEnabled"),
  ])
  func `a member that is not allowed is refused by its name`(members: String, error: String) async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("bad-member"), try await fixture.user("bad-member"))
    let body = "{\(members)}".replacing("\"T\"", with: "\"\(token)\"")
    let answer = try await fixture.request("PUT", "/activities/bad-member", alice, body: body)
    #expect(answer.status == 400)
    #expect(answer.body == #"{"error":"\#(error)"}"#)
    #expect(try await fixture.metadata(token) == nil)
  }

  @Test func `hostile bodies are refused, and nothing is stored`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("hostile"), try await fixture.user("live-hostile"))
    let fields = alice.map { ($0.key, $0.value) }
    for (what, bytes) in hostileBodies(#""token":"\#(token)""#) {
      for method in ["PUT", "DELETE"] {
        // No body names no token: that is refused by PUT, and removes the tokens of the activity by DELETE.
        if method == "DELETE", what == "empty" || what == "white space" { continue }
        let answer = try await WebAnswer.ask(
          port: fixture.sidecar.port, method, "/activities/hostile", fields: fields, bytes: bytes)
        #expect(answer.status == 400, "\(method) \(what): \(answer.body)")
        #expect(answer.keys == ["error"], "\(method) \(what)")
      }
    }
    let large = try await WebAnswer.ask(
      port: fixture.sidecar.port, "PUT", "/activities/hostile", fields: fields,
      bytes: padded(#""token":"\#(token)""#, to: 65_537))
    #expect(large.status == 413)
    #expect(try await fixture.members("live-hostile").isEmpty)
    #expect(try await fixture.metadata(token) == nil)
  }

  @Test(arguments: ["/activities/methods", "/activities/types/Match"])
  func `only PUT and DELETE are served, to a user`(path: String) async throws {
    let fixture = try await fixture()
    let alice = try await fixture.user("live-methods")
    for method in ["GET", "POST", "PATCH"] {
      let answer = try await fixture.request(method, path, alice, body: "{}")
      #expect(answer.status == 405, "\(method)")
      #expect(answer.headers["allow"] == "PUT, DELETE, OPTIONS")
    }
    for method in ["PUT", "DELETE"] {
      #expect(try await fixture.request(method, path, body: "{}").status == 401)
      let wrong = alice.merging(["Authorization": "Bearer wrong-wrong-wrong"]) { $1 }
      #expect(try await fixture.request(method, path, wrong, body: "{}").status == 401)
    }
  }

  @Test func `a browser may PUT and DELETE from an allowed origin, and from no other`() async throws {
    let fixture = try await fixture()
    for method in ["PUT", "DELETE"] {
      let good = ["Origin": "http://localhost:3000", "Access-Control-Request-Method": method]
      let answer = try await fixture.request("OPTIONS", "/activities/cors", good)
      #expect(answer.status == 204)
      #expect(answer.headers["access-control-allow-methods"] == "PUT, DELETE, OPTIONS")
      #expect(answer.headers["access-control-allow-origin"] == "http://localhost:3000")
      let bad = good.merging(["Origin": "https://evil.example"]) { $1 }
      #expect(try await fixture.request("OPTIONS", "/activities/cors", bad).status == 403)
    }
    let post = ["Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"]
    #expect(try await fixture.request("OPTIONS", "/activities/cors", post).status == 405)
  }

  @Test func `a user of one app registers tokens for it, and neither takes nor removes those of another`() async throws
  {
    let fixture = try await fixture()
    _ = try await fixture.user("live-bound")
    _ = try await fixture.backend.credentials.revoke(.user, "live-bound")
    let secret = "a-bound-bearer-token"
    let credential = Credential(
      kind: .user, name: "live-bound", digest: Credential.digest(of: secret), createdAt: 1,
      apps: AppBinding(["com.live.a"]))
    #expect(try await fixture.backend.credentials.add(credential) == nil)
    let bound = ["Authorization": "Bearer \(secret)", "X-Username": "live-bound"]
    let (own, foreign) = (fixture.token("live-bound-own"), fixture.token("live-bound-foreign"))
    let path = "/activities/live-bound"
    #expect(try await fixture.request("PUT", path, bound, body: #"{"token":"\#(own)"}"#).status == 200)
    #expect(try await fixture.metadata(own)?.bundleID == "com.live.a")
    let other = #"{"token":"\#(own)","bundleId":"com.live.b"}"#
    #expect(try await fixture.request("PUT", path, bound, body: other).status == 403)
    _ = try await fixture.backend.registry.register(
      activityToken: Registration(
        token: DeviceToken(foreign), username: "live-bound", platform: .ios, bundleID: "com.live.b", kind: .activity,
        activity: "live-bound", now: 1))
    #expect(try await fixture.request("PUT", path, bound, body: #"{"token":"\#(foreign)"}"#).status == 403)
    #expect(try await fixture.request("DELETE", path, bound).body == #"{"success":true,"removed":1}"#)
    #expect(try await fixture.members("live-bound") == [foreign])
  }
}
