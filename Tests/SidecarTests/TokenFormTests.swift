import EventLoop
import PushModel
import SidecarSupport
import TestSupport
import Testing

@testable import Sidecar

/// What each API does with a text that is no token of APNs, and with the forms in which programs write one.
@EventLoop
struct TokenFormTests {
  private nonisolated static let strangers: [(String, TokenFault)] = [
    ("c2Vy:APA91bHPRgkFLJu6ORcVbKPzK5UlM2u6tVYnqY2j8lH4", .firebase), ("ExponentPushToken[xxxxxxxxxxxxxxxxx]", .expo),
    ("6d5e1a3c-0000-4000-8000-000000000001", .uuid), (String(repeating: "a", count: 63), .digits),
    ("simulator-token-0123456789", .text),
  ]

  @Test(arguments: strangers)
  func `a text that is no token of APNs is refused by name, except by the push API`(
    text: String, fault: TokenFault
  ) async throws {
    let client = try await APIClient()
    let (user, app) = (client.unique("stranger"), client.app("stranger"))
    let device = try await client.send("POST", "/devices", #"{"deviceToken":"\#(text)","userId":"\#(user)"}"#)
    device.isError(400, APIClient.formatError)
    #expect(device.body.contains("deviceToken: \(fault.rawValue)"), "\(device.body)")
    let broadcast = try await client.send("POST", "/newtoken", #"{"token":"\#(text)","bundleId":"\#(app)"}"#)
    broadcast.isError(400, "Invalid device token")
    #expect(broadcast.body.contains("token: \(fault.rawValue)"), "\(broadcast.body)")
    #expect(try await client.metadata(text) == nil)
    let headers = try await client.fixture.user(user)
    if DeviceToken.isWellFormed(text) {
      #expect(try await client.fixture.push("register", headers, #"{"token":"\#(text)"}"#).status == 200)
      #expect(try await client.devices(of: Username(user)) == [text])
      #expect(try await client.fixture.push("unregister", headers, #"{"token":"\#(text)"}"#).status == 200)
    }
    await client.stop()
  }

  @Test func `a token is read in each form in which programs write it`() async throws {
    let client = try await APIClient()
    let token = client.token("forms")
    let digits = Array(token)
    let groups = stride(from: 0, to: 64, by: 8).map { String(digits[$0..<$0 + 8]) }.joined(separator: " ")
    for (number, text) in ["0x\(token)", "\\\\x\(token)", "<\(groups)>", token.uppercased()].enumerated() {
      let user = client.unique("forms-\(number)")
      let answer = try await client.send("POST", "/devices", #"{"deviceToken":"\#(text)","userId":"\#(user)"}"#)
      #expect(answer.status == 201, "\(text)")
      #expect(try await client.devices(of: Username(user)) == [token])
    }
    await client.stop()
  }
}
