import PushModel
import EventLoop
import JSON
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// Requests that the device API refuses without any effect.
@EventLoop
struct DevicesBadInputTests {
  private func fields(_ members: [(String, String)]) -> String {
    members.map { "\"\($0.0)\":\"\($0.1)\"" }.joined(separator: ",")
  }

  @Test(arguments: ["POST", "PUT"])
  func `a body that is not a JSON object changes nothing`(method: String) async throws {
    let client = try await APIClient()
    let (token, new, user) = (client.token("body"), client.token("new"), client.unique("body"))
    try await client.register(token, Username(user))
    let before = try await client.metadata(token)
    let good =
      method == "POST"
      ? fields([("deviceToken", new), ("userId", user)])
      : fields([("currentToken", token), ("newToken", new), ("userId", user)])
    for (what, bytes) in hostileBodies(good) {
      let answer = try await client.send(method, "/devices", bytes: bytes)
      answer.isError(400, "Invalid JSON in request body")
      answer.isCrossOrigin()
      #expect(answer.body.utf8.count < 400, "\(what)")
      #expect(try await client.devices(of: Username(user)) == [token], "\(what)")
    }
    #expect(try await client.metadata(token) == before)
    #expect(try await client.metadata(new) == nil)
    await client.stop()
  }

  @Test func `a body of 64 KiB is accepted, and one byte more is refused`() async throws {
    let client = try await APIClient()
    let (token, user) = (client.token("large"), client.unique("large"))
    let good = fields([("deviceToken", token), ("userId", user)])
    let refused = try await client.send("POST", "/devices", bytes: padded(good, to: 65_537))
    refused.isError(413)
    refused.isCrossOrigin()
    #expect(try await client.metadata(token) == nil)
    #expect(try await client.send("POST", "/devices", bytes: padded(good, to: 65_536)).status == 201)
    await client.stop()
  }

  @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "image/png; x=y", ""])
  func `the content type is ignored`(type: String) async throws {
    let client = try await APIClient()
    let good = "{\(fields([("deviceToken", client.token("type")), ("userId", client.unique("type"))]))}"
    #expect(try await client.send("POST", "/devices", good, ["Content-Type": type]).status == 201)
    await client.stop()
  }

  /// A right-to-left override, a zero-width space, a language tag.
  @Test(arguments: ["\u{202E}", "\u{200B}", "\u{E0041}", "\u{2028}"])
  func `no new user has a name that does not show as it is, and one from before is found`(scalar: String) async throws {
    let client = try await APIClient()
    let (token, user) = (client.token("shown"), client.unique("shown") + scalar + "x")
    let answer = try await client.send(
      "POST", "/devices", "{\(fields([("deviceToken", token), ("userId", user)]))}")
    answer.isError(400, "Invalid userId")
    #expect(try await client.metadata(token) == nil)
    try await client.register(token, Username(user))
    #expect(try await client.devices(of: Username(user)) == [token])
    await client.stop()
  }

  @Test func `no user is called as programs write no value, and other users have their names`() async throws {
    let client = try await APIClient()
    let refused = [
      "null", "NULL", "None", "nil", "NaN", "nan", "undefined", "\\\\N", "[object Object]", "(null)", "<nil>", " None ",
    ]
    for user in refused {
      let body = "{\(fields([("deviceToken", client.token("absent")), ("userId", user)]))}"
      let answer = try await client.send("POST", "/devices", body)
      answer.isError(400, "Invalid userId")
      #expect(answer.body.contains("what programs write for no value"), "\(answer.body)")
    }
    for user in ["Null", "Nan", "nil.armstrong", "none@example.com"] {
      let body = "{\(fields([("deviceToken", client.token("absent")), ("userId", user)]))}"
      #expect(try await client.send("POST", "/devices", body).status == 201, "\(user)")
    }
    await client.stop()
  }

  @Test func `a token of another length is refused with the length that is expected`() async throws {
    let client = try await APIClient()
    let token = client.token("long") + String(repeating: "0a", count: 48)
    let answer = try await client.send(
      "POST", "/devices", "{\(fields([("deviceToken", token), ("userId", client.unique("long"))]))}")
    answer.isError(400, APIClient.formatError)
    #expect(answer.json?["message"]?.string?.contains("deviceToken: expected 64 hexadecimal digits") == true)
    await client.stop()
  }

  @Test(arguments: ["می\u{200C}خواهم", "👩\u{200D}🚀"])
  func `a new user's name may have joiners`(name: String) async throws {
    let client = try await APIClient()
    let body = "{\(fields([("deviceToken", client.token("joined")), ("userId", client.unique("joined") + name)]))}"
    #expect(try await client.send("POST", "/devices", body).status == 201)
    await client.stop()
  }

  @Test func `unknown members are ignored`() async throws {
    let client = try await APIClient()
    let good = fields([("deviceToken", client.token("more")), ("userId", client.unique("more"))])
    let answer = try await client.send("POST", "/devices", #"{"extra":{"a":[1]},\#(good),"platform":7}"#)
    #expect(answer.status == 201)
    await client.stop()
  }

  private nonisolated static let badTokens = [
    "null", "7", "[]", "{}", "true", "\"\"", "\"abc\"", "\"\(String(repeating: "a", count: 63))\"",
    "\"\(String(repeating: "a", count: 65))\"", "\"\(String(repeating: "g", count: 64))\"",
    "\"\(String(repeating: "a", count: 66))\"", "\"\(String(repeating: "a", count: 63))\\u0000\"",
    "\"\(String(repeating: "a", count: 62))é\"", "\"\(String(repeating: "a", count: 63))\\uff21\"",
    "\"\(String(repeating: "@", count: 64))\"",
    "\"\(String(repeating: "a", count: 32) + "/../" + String(repeating: "a", count: 28))\"",
  ]

  @Test func `a token that is not 64 hexadecimal digits is refused with the text of the document`() async throws {
    let client = try await APIClient()
    let (own, user) = (client.token("own"), client.unique("format"))
    try await client.register(own, Username(user))
    let before = try await client.metadata(own)
    for bad in Self.badTokens + [nil] {
      func field(_ name: String) -> String { bad.map { ",\"\(name)\":\($0)" } ?? "" }
      let answers = [
        try await client.send("POST", "/devices", #"{"userId":"\#(user)"\#(field("deviceToken"))}"#),
        try await client.send(
          "PUT", "/devices", #"{"userId":"\#(user)","newToken":"\#(own)"\#(field("currentToken"))}"#),
        try await client.send(
          "PUT", "/devices", #"{"userId":"\#(user)","currentToken":"\#(own)"\#(field("newToken"))}"#),
      ]
      for answer in answers {
        answer.isError(400, APIClient.formatError)
        answer.isCrossOrigin()
      }
    }
    #expect(try await client.metadata(own) == before)
    #expect(try await client.devices(of: Username(user)) == [own])
    await client.stop()
  }

  @Test func `a parameter is decoded once, and must be a token`() async throws {
    let client = try await APIClient()
    let (own, user) = (client.token("own"), client.unique("parameter"))
    try await client.register(own, Username(user))
    let parameters = [
      "", "abc", "..", ".", "%2e%2e", "%2F", "..%2F\(own)", "%2F\(own)", "\(own)%2F", "%5C\(own)", "\(own)%00",
      "\(own)%", "\(own)%4", "%zz\(own)", "%ff\(own)", "+\(own.dropFirst())", "\(own)0", "*", "%25\(own)",
      // Encoded twice: decoding it once leaves a percent sign.
      "%2561\(own.dropFirst())",
    ]
    for parameter in parameters {
      let answer = try await client.send("DELETE", "/devices/\(parameter)")
      answer.isError(400, APIClient.formatError)
      answer.isCrossOrigin()
    }
    for path in ["/devices/../devices/\(own)", "/devices/x/\(own)", "/v1/v1/devices/\(own)", "//devices/\(own)"] {
      try await client.send("DELETE", path).isError(404, "Not found")
    }
    #expect(try await client.devices(of: Username(user)) == [own])
    #expect(try await client.metadata(own) != nil)
    await client.stop()
  }

  @Test func `a user id is required and limited`() async throws {
    let client = try await APIClient()
    let token = client.token("userless")
    let long = String(repeating: "u", count: 257)
    for id in [
      "", ",\"userId\":\"\"", ",\"userId\":\" \\t\"", ",\"userId\":7", ",\"userId\":null", ",\"userId\":[\"a\"]",
      ",\"userId\":\"\(long)\"", ",\"userId\":\"a\\u0000b\"", ",\"userId\":\"a\\nb\"", ",\"userId\":\"a\\u0085b\"",
    ] {
      try await client.send("POST", "/devices", #"{"deviceToken":"\#(token)"\#(id)}"#).isError(400, "Invalid userId")
      try await client.send("PUT", "/devices", #"{"currentToken":"\#(token)","newToken":"\#(token)"\#(id)}"#)
        .isError(400, "Invalid userId")
    }
    for query in ["", "?userId=", "?userId=%20", "?userId=a%00b", "?userId=\(long)", "?user=a"] {
      try await client.send("GET", "/devices\(query)").isError(400, "Invalid userId")
    }
    try await client.send("GET", "/devices?userId=a&userId=b").isError(400, "Invalid userId")
    #expect(try await client.metadata(token) == nil)
    await client.stop()
  }

  @Test(arguments: [
    "7", "[]", "\"a b\"", "\"a/b\"", "\"a:b\"", "\"a\\u0000\"", "\"é\"", "\"\(String(repeating: "b", count: 201))\"",
  ])
  func `an invalid bundle id is refused`(value: String) async throws {
    let client = try await APIClient()
    let token = client.token("bundle")
    let answer = try await client.send(
      "POST", "/devices", #"{"deviceToken":"\#(token)","userId":"\#(client.unique("u"))","bundleId":\#(value)}"#)
    answer.isError(400, "Invalid bundleId")
    #expect(try await client.metadata(token) == nil)
    await client.stop()
  }

  @Test(arguments: [
    "0", "-1", "101", "1.5", "+5", "%205", "ten", "99999999999999999999999", "1e1", "0x10", "١", "5&limit=5",
  ])
  func `a limit is a whole number from 1 to 100`(limit: String) async throws {
    let client = try await APIClient()
    let answer = try await client.send("GET", "/devices?userId=\(client.unique("u"))&limit=\(limit)")
    answer.isError(400, "Invalid limit")
    answer.isCrossOrigin()
    await client.stop()
  }

  @Test(arguments: ["?userId=%", "?userId=%zz", "?userId=%ff", "?%=1"])
  func `a malformed target is refused in the form of the API`(query: String) async throws {
    let client = try await APIClient()
    let answer = try await client.send("GET", "/devices\(query)")
    answer.isError(400)
    answer.isCrossOrigin()
    await client.stop()
  }
}
