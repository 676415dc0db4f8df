import EventLoop
import Foundation
import HTTPServer
import PushModel
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// Requests that the push API refuses without any effect.
@EventLoop
@Suite(.serialized) struct PushBadInputTests {
  private nonisolated static let noObject = "Request body must be a JSON object"
  private nonisolated static let token = "token-of-bad-input-0123456789"

  private nonisolated static let table: [(body: [UInt8], text: String)] = [
    (Array("hello".utf8), noObject), (Array("[]".utf8), noObject), (Array("7".utf8), noObject),
    (Array("null".utf8), noObject), (Array("{\"token\":".utf8), noObject), (Array("{}{}".utf8), noObject),
    (Array("\u{FEFF}{}".utf8), noObject), (Array("token=\(token)".utf8), noObject), ([0], noObject),
    (Array(#"{"a":1,"a":2}"#.utf8), noObject), (Array("{\"a\":\"\u{0}\"}".utf8), noObject),
    (Array("{\"a\":\"".utf8) + [0xFF, 0xC0] + Array("\"}".utf8), noObject), ([0xFF, 0xFE, 0x7B, 0x00], noObject),
    (Array(#"{"a":"\ud83c"}"#.utf8), noObject), (Array(#"{"a":"\udf89\ud83c"}"#.utf8), noObject),
    (Array(String(repeating: "[", count: 60_000).utf8), noObject),
    (Array((String(repeating: #"{"a":"#, count: 65) + "1" + String(repeating: "}", count: 65)).utf8), noObject),
    (Array(#"{"token":{"token":"\#(token)"}}"#.utf8), "Invalid push token format"),
    (Array(#"{"token":"\#(token)\u0000"}"#.utf8), "Invalid push token format"),
    (Array(#"{"token":"\#(token)\r\nX: y"}"#.utf8), "Invalid push token format"),
    (Array(#"{"token":"../../\#(token)"}"#.utf8), "Invalid push token format"),
    (Array(repeating: UInt8(ascii: " "), count: 65_537), "Request body is too large (max 65536 bytes)"),
  ]

  @Test(arguments: ["register", "unregister", "test"], table.indices)
  func `an invalid body is refused and changes nothing`(route: String, row: Int) async throws {
    let fixture = try await SidecarFixture(sender: RecordingSender())
    let headers = try await fixture.user("bad-input")
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(Self.token), username: "bad-input", platform: .ios, now: 1000))
    let keys = [RegistryKeys.userTokens("bad-input"), RegistryKeys.token(entry: Self.token)]
    let before = try await dumps(keys, fixture)
    let (body, text) = Self.table[row]
    let answer = try await WebAnswer.ask(
      port: fixture.sidecar.port, "POST", "/api/push/\(route)", fields: headers.map { ($0.key, $0.value) }, bytes: body)
    #expect(answer.status == (row == Self.table.count - 1 ? 413 : 400))
    #expect(answer.body == #"{"error":"\#(text)"}"#)
    #expect(try await dumps(keys, fixture) == before)
  }

  private func dumps(_ keys: [String], _ fixture: SidecarFixture) async throws -> [String] {
    var dumps: [String] = []
    for key in keys { dumps.append("\(try await fixture.run("DUMP", key))") }
    return dumps
  }

  @Test(arguments: [
    "/api/push/register/", "/api/push/", "/api/push/Register", "/api/push/%72egister", "/api/push//test",
  ])
  func `other paths are not found`(path: String) async throws {
    let fixture = try await SidecarFixture()
    let answer = try await fixture.request("POST", path, try await fixture.user("bad-path"), body: "{}")
    #expect((answer.status, answer.error) == (404, "Not found"))
  }
}
