import EventLoop
import JSON
import PushModel
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// `/api/push/test` with a recording sender: the devices and the answers.
@EventLoop
struct PushTestTests {
  private let sender = RecordingSender()

  private func fixture() async throws -> SidecarFixture {
    try await SidecarFixture(sender: sender) {
      $0.sendConcurrency = 3
      $0.lookupConcurrency = 6
    }
  }

  private func register(_ fixture: SidecarFixture, _ token: String, _ user: String) async throws {
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(token), username: Username(user), platform: .ios, now: 1000))
  }

  @Test func `a test push goes to all devices of the user, with every counter in the answer`() async throws {
    let fixture = try await fixture()
    let user = try await fixture.user("send-all")
    let tokens = (0..<3).map { fixture.token("send-all-\($0)") }
    for token in tokens { try await register(fixture, token, "send-all") }
    let foreign = fixture.token("send-all-foreign")
    try await register(fixture, foreign, "send-other")
    _ = try await fixture.run(
      "SADD", RegistryKeys.userTokens("send-all"), foreign, fixture.token("send-all-forgotten"), "no token")
    sender.refusals = [tokens[0]: (410, "Unregistered"), tokens[1]: (0, "TIMEOUT")]
    sender.staleRemoved = 1
    let answer = try await fixture.push("test", user, #"{"title":"T","body":"B","data":{"a":1}}"#)
    #expect(answer.status == 200)
    #expect(
      answer.keys == [
        "successCount", "failureCount", "failureReasons", "apnsSendConcurrency", "pushMetadataLookupConcurrency",
        "invalidStoredTokensRemoved", "skippedNonStringTokenCount", "staleTokensRemoved", "staleOwnershipTokensRemoved",
        "results",
      ])
    #expect(answer["successCount"] == 1)
    #expect(answer["failureCount"] == 2)
    #expect(
      answer.json?["failureReasons"]
        == .object([
          JSONMember(key: "TIMEOUT", value: .integer(1)), JSONMember(key: "Unregistered", value: .integer(1)),
        ])
    )
    #expect(answer["apnsSendConcurrency"] == 3)
    #expect(answer["pushMetadataLookupConcurrency"] == 6)
    #expect(answer["invalidStoredTokensRemoved"] == 1)
    #expect(answer["skippedNonStringTokenCount"] == 0)
    #expect(answer["staleTokensRemoved"] == 1)
    #expect(answer["staleOwnershipTokensRemoved"] == 2)
    let call = try #require(sender.calls.first)
    #expect(Set(call.tokens) == Set(tokens))
    #expect(call.concurrency == 3)
    #expect(call.payload == #"{"aps":{"alert":{"title":"T","body":"B"},"sound":"default"},"data":{"a":1}}"#)
    let results = answer.json?["results"]?.array ?? []
    #expect(results.map { $0["token"]?.string } == call.tokens)
    let accepted = try #require(results.first { $0["token"]?.string == tokens[2] })
    #expect(
      String(decoding: accepted.bytes, as: UTF8.self)
        == #"{"ok":true,"status":200,"token":"\#(tokens[2])","apnsId":"id-of-\#(tokens[2])"}"#)
    let timeout = try #require(results.first { $0["token"]?.string == tokens[1] })
    #expect(
      String(decoding: timeout.bytes, as: UTF8.self)
        == #"{"ok":false,"status":0,"token":"\#(tokens[1])","reason":"TIMEOUT"}"#)
    #expect(try await fixture.members("send-all") == Set(tokens))
    #expect(try await fixture.members("send-other") == [foreign])
  }

  @Test func `reasons are counted without the addresses and times that the results have`() async throws {
    let fixture = try await fixture()
    let user = try await fixture.user("send-reasons")
    let reasons = [
      "SESSION_ERROR:NoConnection: Failed to connect to 192.0.2.1 port 443 after 3 ms",
      "SESSION_ERROR:NoConnection: Failed to connect to 192.0.2.2 port 443 after 17 ms", "REQUEST_ERROR:StreamReset_2",
    ]
    for (number, reason) in reasons.enumerated() {
      let token = fixture.token("send-reasons-\(number)")
      try await register(fixture, token, "send-reasons")
      sender.refusals[token] = (0, reason)
    }
    let answer = try await fixture.push("test", user)
    let counts = answer.json?["failureReasons"]
    #expect(counts?.members?.count == 2)
    #expect(counts?["SESSION_ERROR:NoConnection"] == .integer(2))
    #expect(counts?["REQUEST_ERROR:StreamReset_2"] == .integer(1))
    #expect(Set(answer.json?["results"]?.array?.compactMap { $0["reason"]?.string } ?? []) == Set(reasons))
  }

  @Test func `a test push with a token goes to that device`() async throws {
    let fixture = try await fixture()
    let user = try await fixture.user("send-one")
    let tokens = (0..<2).map { fixture.token("send-one-\($0)") }
    for token in tokens { try await register(fixture, token, "send-one") }
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("send-one"), "no token")
    let answer = try await fixture.push("test", user, #"{"token":" \#(tokens[1]) "}"#)
    #expect(answer["successCount"] == 1)
    #expect(answer["pushMetadataLookupConcurrency"] == 6)
    #expect(sender.calls.map(\.tokens) == [[tokens[1]]])
    // The rest of the set is not examined.
    #expect(answer["invalidStoredTokensRemoved"] == 0)
    #expect(try await fixture.members("send-one").contains("no token"))
  }

  private static let notRegistered = "Token is not registered for this user"

  @Test func `a token that is not in the user's set is refused before any lookup`() async throws {
    let fixture = try await fixture()
    let user = try await fixture.user("send-nobody")
    let token = fixture.token("send-foreign")
    try await register(fixture, token, "send-owner")
    let answer = try await fixture.push("test", user, #"{"token":"\#(token)"}"#)
    #expect(answer.status == 403)
    #expect(
      answer.body == #"{"error":"\#(Self.notRegistered)","staleOwnershipTokensRemoved":0,"#
        + #""pushMetadataLookupConcurrency":0,"invalidStoredTokensRemoved":0,"skippedNonStringTokenCount":0}"#)
    #expect(sender.calls.isEmpty)
  }

  @Test(arguments: ["foreign", "forgotten", "garbage"])
  func `a token in the set that is not the user's is removed and refused`(kind: String) async throws {
    let fixture = try await fixture()
    let name = "send-\(kind)"
    let (user, token) = (try await fixture.user(name), fixture.token("send-\(kind)"))
    if kind == "foreign" { try await register(fixture, token, "send-owner") }
    if kind == "garbage" { _ = try await fixture.run("SET", RegistryKeys.token(entry: token), "{") }
    _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(name)), token)
    let answer = try await fixture.push("test", user, #"{"token":"\#(token)"}"#)
    #expect(answer.status == 403)
    #expect(
      answer.body == #"{"error":"\#(Self.notRegistered)","staleOwnershipTokensRemoved":1,"#
        + #""pushMetadataLookupConcurrency":6,"invalidStoredTokensRemoved":0,"skippedNonStringTokenCount":0}"#)
    #expect(try await fixture.members(Username(name)).isEmpty)
    #expect(sender.calls.isEmpty)
  }

  @Test func `without valid entries there is nothing to send to`() async throws {
    let fixture = try await fixture()
    let user = try await fixture.user("send-none")
    let empty = try await fixture.push("test", user)
    #expect(empty.status == 400)
    let text = "No registered push tokens for this user"
    #expect(empty.body == #"{"error":"\#(text)","invalidStoredTokensRemoved":0,"skippedNonStringTokenCount":0}"#)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("send-none"), "short", "no token either")
    let malformed = try await fixture.push("test", user)
    #expect(malformed.status == 400)
    #expect(malformed.body == #"{"error":"\#(text)","invalidStoredTokensRemoved":2,"skippedNonStringTokenCount":0}"#)
    #expect(try await fixture.members("send-none").isEmpty)
  }

  @Test func `with tokens of other owners only there is nothing to send to`() async throws {
    let fixture = try await fixture()
    let user = try await fixture.user("send-unowned")
    let foreign = fixture.token("send-unowned")
    try await register(fixture, foreign, "send-owner")
    _ = try await fixture.run(
      "SADD", RegistryKeys.userTokens("send-unowned"), foreign, fixture.token("send-gone"), "short")
    let answer = try await fixture.push("test", user)
    #expect(answer.status == 400)
    #expect(
      answer.body == #"{"error":"No owned push tokens for this user","staleOwnershipTokensRemoved":2,"#
        + #""pushMetadataLookupConcurrency":6,"invalidStoredTokensRemoved":1,"skippedNonStringTokenCount":0}"#)
    #expect(try await fixture.members("send-unowned").isEmpty)
    #expect(try await fixture.metadata(foreign)?.username == "send-owner")
  }
}
