import EventLoop
import JSON
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import PushModel

/// The routes of docs/http/device-api.md.
@EventLoop
struct DevicesTests {
  private static let date = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
  private static let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

  private func body(_ members: (String, String)...) -> String {
    "{\(members.map { "\"\($0.0)\":\"\($0.1)\"" }.joined(separator: ","))}"
  }

  @Test(arguments: ["/devices", "/v1/devices"])
  func `a device is registered`(path: String) async throws {
    let client = try await APIClient()
    let (token, app) = (client.token("new"), client.app("new"))
    let answer = try await client.send(
      "POST", path, body(("deviceToken", token), ("userId", " \(client.unique("USER")) "), ("bundleId", app)))
    #expect(answer.status == 201)
    answer.isCrossOrigin()
    #expect(answer.headers["content-type"] == "application/json")
    #expect(answer.json?.members?.map(\.key) == ["success", "platformEndpointArn", "registrationDate"])
    #expect(answer.json?["success"] == .bool(true))
    let arn = try #require(answer.json?["platformEndpointArn"]?.string)
    #expect(try Regex("arn:martlet:push:production:\(app):endpoint/\(Self.uuid)").wholeMatch(in: arn) != nil, "\(arn)")
    let date = try #require(answer.json?["registrationDate"]?.string)
    #expect(date.wholeMatch(of: Self.date) != nil)
    let metadata = try #require(try await client.metadata(token))
    #expect(metadata.username.text == client.unique("user"))
    #expect(metadata.bundleID == app)
    #expect(metadata.platform == .ios)
    #expect(try await client.devices(of: Username(client.unique("user"))) == [token])
    #expect(try await client.isAudience(app, token))
    await client.stop()
  }

  @Test func `a token is stored in lower case, so that a device is registered once`() async throws {
    let client = try await APIClient()
    let (token, user) = (client.token("case"), client.unique("case"))
    for spelling in [token.uppercased(), token] {
      let answer = try await client.send("POST", "/devices", body(("deviceToken", spelling), ("userId", user)))
      #expect(answer.status == 201)
    }
    #expect(try await client.devices(of: Username(user)) == [token])
    await client.stop()
  }

  @Test func `a second registration keeps the date, and another user's transfers the device`() async throws {
    let client = try await APIClient()
    let (token, user, other) = (client.token("again"), client.unique("first"), client.unique("second"))
    try await client.register(token, Username(user), app: client.app("again"), now: 1_701_424_800_000)
    let again = try await client.send("POST", "/devices", body(("deviceToken", token), ("userId", user)))
    #expect(again.status == 201)
    #expect(again.json?["registrationDate"]?.string == "2023-12-01T10:00:00.000Z")
    #expect(try await client.metadata(token)?.updatedAt ?? 0 > 1_701_424_800_000)
    let taken = try await client.send("POST", "/devices", body(("deviceToken", token), ("userId", other)))
    #expect(taken.status == 201)
    #expect(try await client.devices(of: Username(user)).isEmpty)
    #expect(try await client.devices(of: Username(other)) == [token])
    #expect(try await client.metadata(token)?.bundleID == client.app("again"))
    await client.stop()
  }

  @Test(arguments: ["", #","bundleId":"""#, #","bundleId":null"#])
  func `without a bundle id the device keeps its own or gets the configured one`(member: String) async throws {
    let client = try await APIClient {
      $0.bundleID = "com.example.default"
      $0.defaultEnvironment = .sandbox
    }
    let (fresh, known, user) = (client.token("fresh"), client.token("known"), client.unique("default"))
    try await client.register(known, Username(user), app: client.app("own"))
    func register(_ token: String) async throws -> WebAnswer {
      try await client.send("POST", "/devices", #"{"deviceToken":"\#(token)","userId":"\#(user)"\#(member)}"#)
    }
    let arn = try await register(fresh).json?["platformEndpointArn"]?.string ?? ""
    #expect(arn.hasPrefix("arn:martlet:push:sandbox:com.example.default:endpoint/"))
    #expect(try await client.isAudience("com.example.default", fresh))
    #expect(try await register(known).status == 201)
    #expect(try await client.metadata(known)?.bundleID == client.app("own"))
    #expect(try await client.isAudience(client.app("own"), known))
    #expect(try await !client.isAudience("com.example.default", known))
    await client.stop()
  }

  @Test func `tokens of Live Activities are not listed, and end no page early`() async throws {
    let client = try await APIClient()
    let user = client.unique("live")
    let tokens = (0..<4).map { client.token("live-\($0)") }.sorted()
    for (token, kind) in zip(tokens, [DeviceKind.activity, .app, .pushtostart, .app]) {
      try await client.fixture.backend.registry.register(
        Registration(
          token: DeviceToken(token), username: Username(user), platform: .ios, kind: kind,
          activity: kind == .app ? nil : "ride",
          now: 1000))
    }
    let first = try #require(try await client.send("GET", "/devices?userId=\(user)&limit=1").json)
    #expect(first["devices"]?.array?.map { $0["deviceToken"]?.string } == [tokens[1]])
    let next = try #require(first["nextToken"]?.string)
    let second = try #require(try await client.send("GET", "/devices?userId=\(user)&limit=1&nextToken=\(next)").json)
    #expect(second["devices"]?.array?.map { $0["deviceToken"]?.string } == [tokens[3]])
    #expect(second["nextToken"] == nil)
    await client.stop()
  }

  @Test func `a new token takes over everything of the current one`() async throws {
    let client = try await APIClient()
    let (old, new, user) = (client.token("old"), client.token("new"), client.unique("exchange"))
    let app = client.app("exchange")
    try await client.register(old, Username(user), app: app, now: 1_701_424_800_000)
    try await client.register(new, Username(client.unique("loser")), app: client.app("lost"))
    let answer = try await client.send(
      "PUT", "/devices", body(("currentToken", old.uppercased()), ("newToken", new), ("userId", user)))
    #expect(answer.status == 200)
    answer.isCrossOrigin()
    #expect(answer.json?.members?.map(\.key) == ["success", "platformEndpointArn", "lastUpdated"])
    #expect(answer.json?["lastUpdated"]?.string?.wholeMatch(of: Self.date) != nil)
    let metadata = try #require(try await client.metadata(new))
    #expect(metadata.createdAt == 1_701_424_800_000)
    #expect(metadata.updatedAt > 1_701_424_800_000)
    #expect(metadata.username.text == user)
    #expect(metadata.bundleID == app)
    #expect(try await client.metadata(old) == nil)
    #expect(try await client.devices(of: Username(user)) == [new])
    #expect(try await client.devices(of: Username(client.unique("loser"))).isEmpty)
    #expect(try await client.isAudience(app, new))
    #expect(try await !client.isAudience(app, old))
    #expect(try await !client.isAudience(client.app("lost"), new))
    await client.stop()
  }

  @Test func `the same token again is a refresh`() async throws {
    let client = try await APIClient()
    let (token, user) = (client.token("same"), client.unique("same"))
    try await client.register(token, Username(user), app: client.app("same"), now: 1_701_424_800_000)
    let answer = try await client.send(
      "PUT", "/v1/devices", body(("currentToken", token), ("newToken", token), ("userId", user)))
    #expect(answer.status == 200)
    #expect(try await client.metadata(token)?.createdAt == 1_701_424_800_000)
    #expect(try await client.metadata(token)?.updatedAt ?? 0 > 1_701_424_800_000)
    #expect(try await client.devices(of: Username(user)) == [token])
    #expect(try await client.isAudience(client.app("same"), token))
    await client.stop()
  }

  @Test func `a token that is not the user's is not found, and nothing changes`() async throws {
    let client = try await APIClient()
    let (foreign, fresh, owner) = (client.token("foreign"), client.token("fresh"), client.unique("owner"))
    try await client.register(foreign, Username(owner), app: client.app("foreign"))
    let before = try await client.metadata(foreign)
    for current in [foreign, client.token("unknown")] {
      let answer = try await client.send(
        "PUT", "/devices",
        body(("currentToken", current), ("newToken", fresh), ("userId", client.unique("thief"))))
      answer.isError(404, "Device not found")
      answer.isCrossOrigin()
    }
    #expect(try await client.metadata(foreign) == before)
    #expect(try await client.devices(of: Username(owner)) == [foreign])
    #expect(try await client.metadata(fresh) == nil)
    #expect(try await client.devices(of: Username(client.unique("thief"))).isEmpty)
    await client.stop()
  }

  @Test func `a device is removed regardless of its owner, and an anonymous one too`() async throws {
    let client = try await APIClient()
    let (owned, free, user) = (client.token("owned"), client.token("free"), client.unique("gone"))
    let app = client.app("gone")
    try await client.register(owned, Username(user), app: app)
    try await client.register(free, "", app: app)
    for (token, spelling) in [
      (owned, owned.uppercased()), (free, "%\(String(free.utf8.first!, radix: 16))\(free.dropFirst())"),
    ] {
      let answer = try await client.send("DELETE", "/devices/\(spelling)")
      #expect(answer.status == 200, "\(answer.body)")
      answer.isCrossOrigin()
      #expect(answer.json?.members?.map(\.key) == ["success", "deletedAt"])
      #expect(answer.json?["deletedAt"]?.string?.wholeMatch(of: Self.date) != nil)
      #expect(try await client.metadata(token) == nil)
      #expect(try await !client.isAudience(app, token))
      let again = try await client.send("DELETE", "/v1/devices/\(spelling)")
      again.isError(404, "Device not found")
      again.isCrossOrigin()
    }
    #expect(try await client.devices(of: Username(user)).isEmpty)
    await client.stop()
  }

  @Test func `a device that another API registered in upper case is found`() async throws {
    let client = try await APIClient()
    let (first, second, user) = (client.token("a").uppercased(), client.token("b"), client.unique("upper"))
    try await client.register(first, Username(user))
    let put = try await client.send(
      "PUT", "/devices", body(("currentToken", first), ("newToken", second.uppercased()), ("userId", user)))
    #expect(put.status == 200)
    #expect(try await client.devices(of: Username(user)) == [second])
    try await client.register(first, Username(user))
    #expect(try await client.send("DELETE", "/devices/\(first)").status == 200)
    #expect(try await client.devices(of: Username(user)) == [second])
    await client.stop()
  }
}
