import PushModel
import FleetSupport
import Foundation
import Jobs
import JSON
import Redis
import Registry
import Testing
import TestSupport

/// `/api/push/test` and polling through the real processes, to the simulator.
@Suite(.serialized) struct TestPushTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedSidecar = Task { try await shared.value.sidecar() }
  private let fleet: Fleet
  private let sidecar: SidecarProcess

  init() async throws {
    fleet = try await Self.shared.value
    sidecar = try await Self.sharedSidecar.value
    try await fleet.gateway.reset()
    try await sidecar.apns("ok")
  }

  private func results(_ json: JSONValue) -> [String: JSONValue] {
    let results = json["results"]?.array ?? []
    return Dictionary(results.map { ($0["token"]?.string ?? "", $0) }, uniquingKeysWith: { first, _ in first })
  }

  private func members(_ user: String) async throws -> Set<String> {
    Set(try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(user))).array?.compactMap(\.string) ?? [])
  }

  @Test(arguments: ["sidecar", "all"])
  func `only registered devices get the test push`(command: String) async throws {
    let service = try await fleet.sidecar(command)
    try await service.apns("ok")
    let (user, token) = (try await fleet.userWithCredentials("alice"), fleet.uniqueToken())
    #expect(try await service.push("register", as: user, #"{"token":"\#(token)"}"#).status == 200)
    let answer = try await service.push("test", as: user, #"{"title":"T","body":"B","badge":1}"#)
    #expect(answer.status == 200)
    let result = try #require(results(answer.json)[token])
    #expect(result["ok"]?.bool == true)
    #expect(result["status"]?.count == 200)
    let push = try #require(try await fleet.gateway.recent().last { $0.token == token })
    #expect(push.apnsId == result["apnsId"]?.string)
    #expect(push.topic == "com.example.demo")
    #expect(push.pushType == "alert")
    #expect(push.priority == "10")
    let payload = #"{"aps":{"alert":{"title":"T","body":"B"},"badge":1,"sound":"default"}}"#
    #expect(push.payloadBytes == payload.utf8.count)
    #expect(try await service.push("unregister", as: user).json["removed"]?.count == 1)
    #expect(try await service.push("test", as: user).status == 400)
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await service.stop() == 0)
  }

  @Test func `stale tokens are removed with their metadata and counted`() async throws {
    let user = try await fleet.userWithCredentials("stale")
    let tokens = fleet.uniqueTokens(5)
    for token in tokens { _ = try await sidecar.push("register", as: user, #"{"token":"\#(token)"}"#) }
    try await fleet.gateway.device(tokens[0], #""rule":"bad""#)
    try await fleet.gateway.device(tokens[1], #""rule":"unregistered","since":4000000000000"#)
    try await fleet.gateway.device(tokens[2], #""rule":"forTopic","topic":"com.other""#)
    try await fleet.gateway.device(tokens[3], #""rule":"fixed","status":503"#)
    let json = try await sidecar.push("test", as: user).json
    #expect(json["successCount"]?.count == 1)
    #expect(json["failureCount"]?.count == 4)
    #expect(json["staleTokensRemoved"]?.count == 3)
    for (reason, status, token) in [
      ("BadDeviceToken", 400, tokens[0]), ("Unregistered", 410, tokens[1]),
      ("DeviceTokenNotForTopic", 400, tokens[2]), ("ServiceUnavailable", 503, tokens[3]),
    ] {
      #expect(json["failureReasons"]?[reason]?.count == 1)
      #expect(results(json)[token]?["reason"]?.string == reason)
      #expect(results(json)[token]?["status"]?.count == status)
    }
    #expect(try await members(user) == Set(tokens[3...]))
    for (index, token) in tokens.enumerated() {
      #expect(try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == (index < 3 ? 0 : 1))
      let audience = RegistryKeys.audience("com.example.demo", shard: AudienceShard.shard(of: token))
      #expect(try await fleet.redis("ZSCORE", audience, token).isNull == (index < 3))
    }
  }

  @Test func `a token registered after APNs' timestamp stays`() async throws {
    let (user, token) = (try await fleet.userWithCredentials("renewed"), fleet.uniqueToken())
    _ = try await sidecar.push("register", as: user, #"{"token":"\#(token)"}"#)
    try await fleet.gateway.device(token, #""rule":"unregistered","since":1700000000001"#)
    let json = try await sidecar.push("test", as: user).json
    #expect(results(json)[token]?["reason"]?.string == "Unregistered")
    #expect(json["staleTokensRemoved"]?.count == 0)
    #expect(try await members(user) == [token])
  }

  @Test func `an android device is listed and not sent to`() async throws {
    let (user, ios, android) = (
      try await fleet.userWithCredentials("mixed"), fleet.uniqueToken(), "android:\(fleet.uniqueToken())"
    )
    _ = try await sidecar.push("register", as: user, #"{"token":"\#(ios)"}"#)
    _ = try await sidecar.push("register", as: user, #"{"token":"\#(android)","platform":"android"}"#)
    let json = try await sidecar.push("test", as: user).json
    #expect(json["successCount"]?.count == 1)
    let expected = #"{"ok":false,"status":0,"token":"\#(android)","reason":"UnsupportedPlatform"}"#
    #expect(results(json)[android]?.bytes == Array(expected.utf8))
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await members(user) == [ios, android])
  }

  @Test func `APNS_SEND_CONCURRENCY limits the pushes in flight`() async throws {
    let limit = 3
    let bounded = try await fleet.sidecar("sidecar", ["APNS_SEND_CONCURRENCY": "\(limit)"])
    try await bounded.apns("ok")
    let user = try await fleet.userWithCredentials("many")
    let tokens = fleet.uniqueTokens(10)
    try await fleet.register(tokens, to: user)
    // The client sends one push at a time until the first one proves the provider token.
    _ = try await bounded.push("test", as: user, #"{"token":"\#(tokens[0])"}"#)
    try await fleet.gateway.control("/ledger/reset", "-X", "POST")
    let held: Int64 = 200
    try await fleet.gateway.settings(#"{"rttMs":\#(held)}"#)
    let json = try await bounded.push("test", as: user).json
    #expect(json["successCount"]?.count == 10)
    #expect(json["apnsSendConcurrency"]?.count == limit)
    #expect((json["results"]?.array ?? []).count == 10)
    // The gateway delays every answer, so each push starts only after an earlier one ended.
    let arrivals = try await fleet.gateway.recent().map(\.arrival).sorted()
    #expect(arrivals.count == 10)
    for (earlier, later) in zip(arrivals, arrivals.dropFirst(limit)) {
      #expect(later - earlier >= held * 900_000)
    }
    try await bounded.stop()
  }

  @Test func `an expired provider token is renewed once and the push arrives`() async throws {
    let (user, token) = (try await fleet.userWithCredentials("expired"), fleet.uniqueToken())
    try await fleet.register(token, to: user)
    try await fleet.gateway.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken","count":1}"#)
    #expect(try await sidecar.push("test", as: user).json["successCount"]?.count == 1)
    #expect(try await fleet.gateway.recent().map(\.status) == [403, 200])
  }

  @Test func `a client that disconnects before the answer does no harm`() async throws {
    let (user, token) = (try await fleet.userWithCredentials("gone"), fleet.uniqueToken())
    try await fleet.register(token, to: user)
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true,"count":1}"#)
    let impatient = try ChildProcess(
      "curl",
      [
        "-sS", "-H", "X-Username: \(user)", "-H", "Authorization: Bearer \(SidecarProcess.secret(of: user))", "-d",
        "{}",
        "http://127.0.0.1:\(sidecar.port)/api/push/test",
      ])
    try await eventually("the push is sent") { try await fleet.gateway.ledger().accepted == 1 }
    impatient.signal(SIGKILL)
    #expect(try await impatient.exit() == 128 + SIGKILL)
    #expect(try await sidecar.push("test", as: user).json["successCount"]?.count == 1)
    try await eventually("both were sent") { try await fleet.gateway.ledger().accepted == 2 }
  }

  @Test func `an unreachable gateway is reported at once`() async throws {
    let lost = try await fleet.sidecar(
      "sidecar", ["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(try freePort())"])
    let (user, token) = (try await fleet.userWithCredentials("lost"), fleet.uniqueToken())
    _ = try await lost.push("register", as: user, #"{"token":"\#(token)"}"#)
    let answer = try await lost.push("test", as: user)
    #expect(answer.status == 200)
    #expect(answer.json["failureCount"]?.count == 1)
    let result = try #require(results(answer.json)[token])
    #expect(result["status"]?.count == 0)
    #expect(result["reason"]?.string?.hasPrefix("SESSION_ERROR:") == true)
    #expect(try await members(user) == [token])
    try await lost.stop()
  }

  @Test func `a gateway that never answers times out for every device`() async throws {
    let user = try await fleet.userWithCredentials("silent")
    let tokens = fleet.uniqueTokens(6)
    try await fleet.register(tokens, to: user)
    try await fleet.gateway.fault(#"{"kind":"stall"}"#)
    let answer = try await sidecar.push("test", as: user)
    #expect(answer.status == 200)
    #expect(answer.json["failureReasons"]?["TIMEOUT"]?.count == 6)
    #expect(Set(results(answer.json).keys) == Set(tokens))
  }

  @Test func `without APNs settings devices are kept and the test push names the missing settings`() async throws {
    let (user, token) = (try await fleet.userWithCredentials("unsent"), fleet.uniqueToken())
    for (changes, missing) in [
      ([:], ["APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY"]),
      (["APNS_KEY_ID": "ABCDEFGHIJ", "APNS_BUNDLE_ID": "com.a"], ["APNS_TEAM_ID", "APNS_PRIVATE_KEY"]),
    ] as [([String: String?], [String])] {
      let service = try await fleet.sidecar("sidecar", changes, isPollingOnly: true)
      #expect(try await service.push("register", as: user, #"{"token":"\#(token)"}"#).status == 200)
      let answer = try await service.push("test", as: user, "[")
      #expect(answer.status == 500)
      #expect(answer.json["error"]?.string == "APNs is not configured.")
      #expect(answer.json["missingEnvVars"]?.array?.compactMap(\.string) == missing)
      let told = "\"missing\":\"\(missing.joined(separator: ","))\""
      #expect(service.process.lines.contains { $0.contains("APNs is not configured") && $0.contains(told) })
      try await service.stop()
    }
  }

  @Test func `a notification that could not be sent can be polled`() async throws {
    let (user, queue) = (try await fleet.userWithCredentials("poller"), fleet.unique("jobs"))
    let service = try await fleet.sidecar("all", ["MARTLET_QUEUES": queue], isPollingOnly: true)
    let ids = (0..<2).map { _ in fleet.unique("poll") }
    for id in ids {
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: queue)
      #expect(try await fleet.record(id).status == "unsent")
    }
    let first = try await service.ask("/notifications?limit=1", as: user)
    #expect(first.status == 200)
    #expect(first.json["notifications"]?.array?.map { $0["id"]?.string } == [ids[0]])
    #expect(first.json["hasMore"]?.bool == true)
    let cursor = try #require(first.json["cursor"]?.string)
    let second = try await service.ask("/notifications?since=\(cursor)", as: user)
    let record = try #require(second.json["notifications"]?.array?.first)
    #expect(record["id"]?.string == ids[1])
    #expect(record["status"]?.string == "unsent")
    #expect(record["payload"]?["aps"]?["alert"]?["title"]?.string == "Hello")
    #expect(second.json["hasMore"]?.bool == false)
    #expect(try await service.stop() == 0)
  }
}
