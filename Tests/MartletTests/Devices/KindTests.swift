import FleetSupport
import Jobs
import JSON
import PushModel
import Redis
import Testing
import TestSupport

/// Several tokens of one phone.
@Suite(.serialized) struct KindTests {
  private static let shared = Task { try await TwoEnvironments() }
  private let two: TwoEnvironments
  private let queue: String

  init() async throws {
    two = try await Self.shared.value
    queue = two.fleet.unique("kinds")
  }

  @Test func `a call goes to the voip token and leaves the token of the app alone`() async throws {
    let user = two.fleet.unique("alice")
    let tokens = (app: two.fleet.uniqueToken(), voip: two.fleet.uniqueToken())
    try await two.register(tokens.app, to: user)
    try await two.register(tokens.voip, to: user, #","kind":"voip""#)
    let worker = try await two.worker(on: queue)
    let call = try await two.deliver(#"{"user":"\#(user)"}"#, #","pushType":"voip""#, on: queue)
    #expect(call.status == "accepted")
    #expect(call.accepted == 1)
    #expect(try await two.pushes(of: tokens.app).environments.isEmpty)
    let push = try #require(try await two.fleet.gateway.recent().first { $0.token == tokens.voip })
    #expect(push.topic == "com.example.demo.voip")
    #expect(push.expiration == "0")
    #expect(try await two.deliver(#"{"user":"\#(user)"}"#, on: queue).accepted == 1)
    #expect(try await two.pushes(of: tokens.app).environments == [.production])
    #expect(try await two.pushes(of: tokens.voip).environments == [.production])
    await two.stop(worker)
  }

  @Test func `a user without a token of the kind has no devices, and the history names the type`() async throws {
    let (user, token) = (two.fleet.unique("alice"), two.fleet.uniqueToken())
    try await two.register(token, to: user)
    let worker = try await two.worker(on: queue)
    let record = try await two.deliver(#"{"user":"\#(user)"}"#, #","pushType":"voip""#, on: queue)
    #expect(record.status == "no_devices")
    let bytes = try await two.fleet.redis("GET", "push:result:\(record.id)").bytes ?? []
    let history = try JSONValue(parsing: bytes)["history"]?.array ?? []
    #expect(history.contains { $0["event"]?.string == "resolved" && $0["pushType"]?.string == "voip" })
    await two.stop(worker)
  }

  @Test func `a named token of another kind is not sent`() async throws {
    let (user, token) = (two.fleet.unique("alice"), two.fleet.uniqueToken())
    try await two.register(token, to: user)
    let worker = try await two.worker(on: queue)
    for to in [#"{"token":"\#(token)"}"#, #"{"user":"\#(user)","token":"\#(token)"}"#, #"{"tokens":["\#(token)"]}"#] {
      let record = try await two.deliver(to, #","pushType":"voip""#, on: queue)
      #expect(record.status == "failed")
      #expect(record.reasons == ["WrongTokenKind": 1])
    }
    #expect(try await two.deliver(#"{"token":"\#(token)"}"#, #","pushType":"mdm","payload":{}"#, on: queue).failed == 1)
    #expect(try await two.pushes(of: token).environments.isEmpty)
    #expect(try await two.device(token) != nil)
    await two.stop(worker)
  }

  @Test func `a push to an extension carries what Apple demands`() async throws {
    let (user, token) = (two.fleet.unique("alice"), two.fleet.uniqueToken())
    try await two.register(token, to: user, #","kind":"widgets""#)
    let worker = try await two.worker(on: queue)
    #expect(try await two.deliver(#"{"user":"\#(user)"}"#, #","pushType":"widgets""#, on: queue).accepted == 1)
    let push = try #require(try await two.fleet.gateway.recent().first { $0.token == token })
    #expect(push.topic == "com.example.demo.push-type.widgets")
    #expect(push.payloadBytes == #"{"aps":{"content-changed":true}}"#.utf8.count)
    await two.stop(worker)
  }
}
