import EventLoop
import JSON
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import PushModel

/// What the registrations of backends say of a device beside its token.
@EventLoop
struct DeviceTraitsTests {
  @Test func `a device is stored and listed with its app, environment, kind and phone, and a new token keeps them`()
    async throws
  {
    let client = try await APIClient()
    let (user, app) = (client.unique("traits"), client.app("traits"))
    let (token, next) = (client.token("traits"), client.token("traits-next"))
    let created = try await client.send(
      "POST", "/v1/devices",
      #"{"deviceToken":"\#(token)","userId":"\#(user)","bundleId":"\#(app)","environment":"sandbox","kind":"voip","#
        + #""deviceId":"phone-1"}"#)
    #expect(created.status == 201)
    func listed() async throws -> JSONValue {
      let list = try await client.send("GET", "/devices?userId=\(user)")
      return try #require(list.json?["devices"]?.array?.first)
    }
    func expect(_ device: JSONValue, _ token: String, environment: String) {
      #expect(device["deviceToken"]?.string == token)
      #expect(device["bundleId"]?.string == app)
      #expect(device["environment"]?.string == environment)
      #expect(device["kind"]?.string == "voip")
      #expect(device["deviceId"]?.string == "phone-1")
    }
    expect(try await listed(), token, environment: "sandbox")
    let change = #"{"currentToken":"\#(token)","newToken":"\#(next)","userId":"\#(user)""#
    #expect(try await client.send("PUT", "/devices", change + "}").status == 200)
    expect(try await listed(), next, environment: "sandbox")
    let back = #"{"currentToken":"\#(next)","newToken":"\#(token)","userId":"\#(user)","environment":"production"}"#
    #expect(try await client.send("PUT", "/devices", back).status == 200)
    expect(try await listed(), token, environment: "production")
    await client.stop()
  }

  @Test(arguments: ["environment", "kind", "deviceId"])
  func `a value that is not allowed is refused by its name, and nothing is stored`(field: String) async throws {
    let client = try await APIClient()
    let (user, token) = (client.unique("bad"), client.token("bad"))
    let answer = try await client.send(
      "POST", "/devices", #"{"deviceToken":"\#(token)","userId":"\#(user)","\#(field)":"no such value"}"#)
    #expect(answer.status == 400)
    #expect(answer.json?["error"]?.string == "Invalid \(field)")
    #expect(answer.json?["message"]?.string?.hasPrefix("\(field): expected ") == true)
    let list = try await client.send("GET", "/devices?userId=\(user)")
    #expect(list.json?["devices"]?.array?.isEmpty == true)
    await client.stop()
  }

  @Test func `an anonymous device is registered with its environment, as JSON and as a form`() async throws {
    let client = try await APIClient()
    let app = client.app("anonymous")
    let (one, two) = (client.token("anonymous-1"), client.token("anonymous-2"))
    let json = #"{"token":"\#(one)","bundleId":"\#(app)","environment":"development"}"#
    #expect(try await client.send("POST", "/newtoken", json).status == 200)
    let form = ["Content-Type": "application/x-www-form-urlencoded"]
    let body = "token=\(two)&bundleId=\(app)&environment=production&kind="
    #expect(try await client.send("POST", "/newtoken", body, form).status == 200)
    #expect(try await client.fixture.metadata(one)?.environment == .sandbox)
    #expect(try await client.fixture.metadata(two)?.environment == .production)
    await client.stop()
  }
}
