import EventLoop
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// Requests that the broadcast API refuses without any effect.
@EventLoop
struct BroadcastBadInputTests {
  private nonisolated static let form = ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"]

  @Test func `a body that is not a JSON object changes nothing`() async throws {
    let client = try await APIClient { $0.queue = "push:jobs:bad-json" }
    let (token, app) = (client.token("bad"), client.app("bad"))
    for (_, bytes) in hostileBodies(#""token":"\#(token)","bundleId":"\#(app)""#) {
      try await client.send("POST", "/newtoken", bytes: bytes).isError(400)
    }
    for (_, bytes) in hostileBodies(#""body":"x","bundleId":"\#(app)""#) {
      try await client.send("POST", "/newpush", bytes: bytes).isError(400)
    }
    #expect(try await client.metadata(token) == nil)
    #expect(try await client.fixture.run("EXISTS", "push:jobs:bad-json").integer == 0)
    await client.stop()
  }

  @Test(arguments: ["%", "token=%zz", "token=%ff&bundleId=a", "bundleId=a&bundleId=b", "", "token", "&&=&", "[]"])
  func `a malformed form is refused`(body: String) async throws {
    let client = try await APIClient { $0.queue = "push:jobs:bad-form" }
    for path in ["/newtoken", "/newpush"] { try await client.send("POST", path, body, Self.form).isError(400) }
    #expect(try await client.fixture.run("EXISTS", "push:jobs:bad-form").integer == 0)
    await client.stop()
  }

  @Test func `JSON is accepted with the content type of a form`() async throws {
    let client = try await APIClient()
    let body = #" {"token":"\#(client.token("typed"))","bundleId":"\#(client.app("typed"))"}"#
    #expect(try await client.send("POST", "/newtoken", body, Self.form).status == 200)
    await client.stop()
  }

  @Test func `a body of 64 KiB and one byte is refused`() async throws {
    let client = try await APIClient()
    let good = #""token":"\#(client.token("large"))","bundleId":"\#(client.app("large"))""#
    try await client.send("POST", "/newtoken", bytes: padded(good, to: 65_537)).isError(413)
    #expect(try await client.metadata(client.token("large")) == nil)
    #expect(try await client.send("POST", "/newtoken", bytes: padded(good, to: 65_536)).status == 200)
    await client.stop()
  }

  @Test(arguments: [
    "null", "7", "[]", "\"\"", "\"<>\"", "\"short\"", "\"\(String(repeating: "t", count: 513))\"",
    "\"aaaaaaaaaa/aaaaaaaaaaaaa\"", "\"aaaaaaaaaaaaaaaaaaaaaaaa\\u0000\"", "\"aaaaaaaaaaaaaaaaaaaaaaaaé\"",
    "\"aaaaaaaaaaaaaaaaaaaaaaaa\\n\"",
  ])
  func `an invalid token is refused`(value: String) async throws {
    let client = try await APIClient()
    let answer = try await client.send("POST", "/newtoken", #"{"token":\#(value),"bundleId":"\#(client.app("t"))"}"#)
    answer.isError(400, "Invalid device token")
    await client.stop()
  }

  @Test(arguments: ["", #","bundleId":7"#, #","bundleId":"a b""#, #","bundledId":"a/b""#, #","bundleId":"""#])
  func `a request without a valid app is refused`(member: String) async throws {
    let client = try await APIClient { $0.queue = "push:jobs:no-app" }
    let token = client.token("appless")
    try await client.send("POST", "/newtoken", #"{"token":"\#(token)"\#(member)}"#).isError(400, "Invalid bundleId")
    try await client.send("POST", "/newpush", #"{"body":"x"\#(member)}"#).isError(400, "Invalid bundleId")
    #expect(try await client.metadata(token) == nil)
    #expect(try await client.fixture.run("EXISTS", "push:jobs:no-app").integer == 0)
    await client.stop()
  }

  @Test(arguments: [
    (#""x":1"#, "Invalid body"), (#""body":"""#, "Invalid body"), (#""body":7"#, "Invalid body"),
    (#""body":null"#, "Invalid body"), (#""body":"x","title":7"#, "Invalid title"),
    (#""body":"a\u0000b""#, "Invalid push"), (#""body":"x","title":"\u0000""#, "Invalid push"),
    (#""body":"\#(String(repeating: "x", count: 4096))""#, "Invalid push"),
  ])
  func `a push that APNs would not accept is refused before it is enqueued`(members: String, error: String) async throws
  {
    let client = try await APIClient { $0.queue = "push:jobs:bad-push" }
    let answer = try await client.send("POST", "/newpush", #"{"bundleId":"\#(client.app("p"))",\#(members)}"#)
    answer.isError(400, error)
    #expect(try await client.fixture.run("EXISTS", "push:jobs:bad-push").integer == 0)
    await client.stop()
  }
}
