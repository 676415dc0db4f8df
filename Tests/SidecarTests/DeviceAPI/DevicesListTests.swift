import Crypto
import EventLoop
import JSON
import PushModel
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// `GET /devices` of docs/http/device-api.md.
@EventLoop
struct DevicesListTests {
  private func tokens(_ answer: WebAnswer) -> [String] {
    answer.json?["devices"]?.array?.compactMap { $0["deviceToken"]?.string } ?? []
  }

  /// Returns the devices of every page.
  private func read(_ client: APIClient, _ user: String, limit: Int, each: () async throws -> Void = {}) async throws
    -> [[String]]
  {
    var pages: [[String]] = []
    var next = ""
    repeat {
      let answer = try await client.send("GET", "/devices?userId=\(user)&limit=\(limit)\(next)")
      try #require(answer.status == 200 && pages.count < 100)
      pages.append(tokens(answer))
      next = answer.json?["nextToken"]?.string.map { "&nextToken=\($0)" } ?? ""
      try await each()
    } while !next.isEmpty
    return pages
  }

  @Test func `a device is listed with all members of the document`() async throws {
    let client = try await APIClient()
    let (token, user) = (client.token("listed"), client.unique("listed"))
    try await client.register(token, Username(user), app: client.app("listed"), now: 1_701_424_800_000)
    try await client.register(token, Username(user), now: 1_701_424_800_250)
    let answer = try await client.send("GET", "/v1/devices?userId=%20\(user.uppercased())+")
    #expect(answer.status == 200)
    answer.isCrossOrigin()
    #expect(answer.json?.members?.map(\.key) == ["success", "devices"])
    let device = try #require(answer.json?["devices"]?.array?.first)
    #expect(
      device.members?.map(\.key)
        == [
          "deviceToken", "platformEndpointArn", "userId", "registrationDate", "lastUpdated", "active", "bundleId",
          "kind",
        ])
    #expect(device["deviceToken"]?.string == token)
    #expect(device["userId"]?.string == user)
    #expect(device["registrationDate"]?.string == "2023-12-01T10:00:00.000Z")
    #expect(device["lastUpdated"]?.string == "2023-12-01T10:00:00.250Z")
    #expect(device["active"] == .bool(true))
    let again = try await client.send("POST", "/devices", #"{"deviceToken":"\#(token)","userId":"\#(user)"}"#)
    #expect(device["platformEndpointArn"] == again.json?["platformEndpointArn"])
    await client.stop()
  }

  @Test func `a user without devices has an empty list`() async throws {
    let client = try await APIClient()
    let answer = try await client.send("GET", "/devices?userId=\(client.unique("nobody"))")
    #expect(
      answer.json == .object([.init(key: "success", value: .bool(true)), .init(key: "devices", value: .array([]))]))
    await client.stop()
  }

  @Test func `pages have ten devices by default, each device is listed once, and the last page has no nextToken`()
    async throws
  {
    let client = try await APIClient()
    let user = client.unique("pages")
    let all = (0..<25).map { client.token("page-\($0)") }
    for token in all { try await client.register(token, Username(user)) }
    for path in ["?userId=\(user)", "?userId=\(user)&limit=&nextToken="] {
      #expect(tokens(try await client.send("GET", "/devices\(path)")) == Array(all.sorted().prefix(10)))
    }
    for limit in [1, 7, 25, 100] {
      let pages = try await read(client, user, limit: limit)
      #expect(pages.flatMap { $0 } == all.sorted())
      #expect(pages.count == (25 + limit - 1) / limit)
    }
    await client.stop()
  }

  @Test func `devices that are added or removed do not change the pages of others`() async throws {
    let client = try await APIClient()
    let user = client.unique("moving")
    let all = (0..<12).map { client.token("moving-\($0)") }.sorted()
    for token in all { try await client.register(token, Username(user)) }
    var isFirst = true
    let pages = try await read(client, user, limit: 4) {
      guard isFirst else { return }
      isFirst = false
      // The first and the last device of the page go, and a new one comes before them.
      for token in [all[0], all[3]] { _ = try await client.fixture.backend.registry.forget(token: DeviceToken(token)) }
      try await client.register(String(repeating: "0", count: 64), Username(user))
    }
    #expect(pages.flatMap { $0 } == all)
    await client.stop()
  }

  @Test func `devices of other systems are listed, and entries that are not the user's are removed`()
    async throws
  {
    let client = try await APIClient()
    let (user, other) = (client.unique("mixed"), client.unique("other"))
    let own = [client.token("own"), "Android:\(client.unique("fcm"))"].sorted()
    for token in own { try await client.register(token, Username(user), platform: token == own[0] ? .android : .ios) }
    let foreign = client.token("foreign")
    try await client.register(foreign, Username(other))
    try await client.register(client.token("free"), "", app: client.app("free"))
    for entry in [foreign, client.token("gone"), client.token("free"), "no token"] {
      _ = try await client.fixture.run("SADD", RegistryKeys.userTokens(Username(user)), entry)
    }
    let pages = try await read(client, user, limit: 1)
    #expect(pages == own.map { [$0] })
    try await eventuallyClean(client, user, own)
    #expect(try await client.devices(of: Username(other)) == [foreign])
    await client.stop()
  }

  private func eventuallyClean(_ client: APIClient, _ user: String, _ own: [String]) async throws {
    // The answer to a later command arrives after the cleanup.
    _ = try await client.send("GET", "/devices?userId=\(user)&limit=100")
    #expect(try await client.devices(of: Username(user)) == Set(own))
  }

  @Test func `a nextToken of another user or a malformed one is refused`() async throws {
    let client = try await APIClient()
    let (user, other) = (client.unique("honest"), client.unique("forger"))
    for index in 0..<3 {
      for user in [user, other] { try await client.register(client.token("\(user)-\(index)"), Username(user)) }
    }
    let answer = try await client.send("GET", "/devices?userId=\(other)&limit=1")
    let foreign = try #require(answer.json?["nextToken"]?.string)
    func encoded(_ text: String) -> String { String(decoding: Base64URL.encode(Array(text.utf8)), as: UTF8.self) }
    let token = client.token("x")
    let forged = [
      foreign, foreign + "A", String(foreign.dropLast()), "AAAA", "%00", "not%20base64", encoded("{}"), encoded("[]"),
      encoded(#"{"deviceToken":"x","userId":"\#(user)"}"#),
      encoded(#"{"deviceToken":"\#(token)\u0000","userId":"\#(user)"}"#),
      encoded(#"{"userId":"\#(user)","deviceToken":"\#(token)"}"#),
      encoded(#"{"deviceToken":"\#(token)","userId":"\#(user)","x":1}"#),
      encoded(#"{"deviceToken":"\#(token)","userId":"\#(user)"} "#), String(repeating: "A", count: 5000),
    ]
    for text in forged {
      let answer = try await client.send("GET", "/devices?userId=\(user)&nextToken=\(text)")
      answer.isError(400, "Invalid nextToken")
      answer.isCrossOrigin()
    }
    await client.stop()
  }
}
