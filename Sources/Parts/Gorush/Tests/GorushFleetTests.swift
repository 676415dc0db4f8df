import FleetSupport
import Foundation
import JSON
import Redis
import Testing
import TestSupport

/// Bodies with the fields and shapes of gorush's README, from the request to what arrives at APNs.
@Suite(.serialized) struct GorushFleetTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  private struct Case: Sendable {
    /// The members of a notification beside `tokens` and `platform`.
    let sent: String
    let payload: String
    var pushType = "alert"
    var topic = "com.example.demo"
    var priority: String? = "10"
    var collapseID: String?
    var expiration: String?
    var ignored: String?
  }

  private static let cases = [
    Case(sent: #""message":"Lunch is ready""#, payload: #"{"aps":{"alert":"Lunch is ready"}}"#),
    Case(
      sent: #""title":"Kitchen","message":"Lunch is ready""#,
      payload: #"{"aps":{"alert":{"title":"Kitchen","body":"Lunch is ready"}}}"#),
    Case(
      sent:
        #""title":"Fire","message":"Leave","apns":{"payload":{"aps":{"sound":{"name":"a.wav","critical":1,"volume":0.8}}}}"#,
      payload: #"{"aps":{"alert":{"title":"Fire","body":"Leave"}}}"#, ignored: "ignored: apns"),
    Case(
      sent: #""badge":3,"alert":{"title":"Chess","body":"Ann moved","action-loc-key":"MOVE"}"#,
      payload: #"{"aps":{"alert":{"title":"Chess","body":"Ann moved","action-loc-key":"MOVE"},"badge":3}}"#),
    Case(
      sent: #""message":"Mail","badge":0,"sound":{"critical":1,"name":"default","volume":1.0}"#,
      payload: #"{"aps":{"alert":"Mail","sound":{"critical":1,"name":"default","volume":1.0},"badge":0}}"#),
    Case(sent: #""message":"Mail","sound":"bell.caf""#, payload: #"{"aps":{"alert":"Mail","sound":"bell.caf"}}"#),
    Case(
      sent: #""message":"Mail","name":"bell.caf","volume":0.5"#,
      payload: #"{"aps":{"alert":"Mail","sound":{"critical":1,"name":"bell.caf","volume":0.5}}}"#),
    Case(
      sent: #""message":"Mail","sound":{"critical":1,"name":"default","volume":2.0},"volume":0.5"#,
      payload: #"{"aps":{"alert":"Mail","sound":{"critical":1,"name":"default","volume":0.5}}}"#),
    Case(
      sent: #""message":"Score","data":{"room":"north","goals":2,"list":[1,{"a":null}]}"#,
      payload: #"{"aps":{"alert":"Score"},"room":"north","goals":2,"list":[1,{"a":null}]}"#),
    Case(
      sent:
        #""message":"Live","production":true,"retry":2,"notif_id":"","expiration":4000000000,"collapse_id":"goal","priority":"normal""#,
      payload: #"{"aps":{"alert":"Live"}}"#, priority: "5", collapseID: "goal", expiration: "4000000000"),
    Case(
      sent: #""message":"Test","development":true,"expiration":0,"priority":"high","topic":"com.example.demo""#,
      payload: #"{"aps":{"alert":"Test"}}"#, expiration: "0"),
    Case(
      sent: #""content_available":true,"data":{"sync":1},"mutable_content":false,"badge":null"#,
      payload: #"{"aps":{"content-available":1},"sync":1}"#, pushType: "background", priority: "5"),
    Case(
      sent:
        #""message":"x","content_available":true,"mutable_content":true,"category":"MAIL","thread-id":"t","url-args":["a","b"],"interruption_level":"time-sensitive""#,
      payload:
        #"{"aps":{"alert":"x","content-available":1,"mutable-content":1,"category":"MAIL","thread-id":"t","url-args":["a","b"],"interruption-level":"time-sensitive"}}"#
    ),
    Case(
      sent:
        #""alert":{"loc-key":"INVITE","loc-args":["Ann","Bob"],"title-loc-key":"GAME","title-loc-args":["1"],"launch-image":"l.png","subtitle":"s","action":"Play"}"#,
      payload:
        #"{"aps":{"alert":{"subtitle":"s","action":"Play","launch-image":"l.png","loc-key":"INVITE","loc-args":["Ann","Bob"],"title-loc-key":"GAME","title-loc-args":["1"]}}}"#
    ),
    Case(
      sent:
        #""push_type":"liveactivity","topic":"com.example.demo.push-type.liveactivity","event":"start","timestamp":1700000000,"content-state":{"goals":0,"half":"1"},"attributes-type":"Match","attributes":{"home":"A"},"alert":{"title":"A - B","body":"It begins"}"#,
      payload:
        #"{"aps":{"alert":{"title":"A - B","body":"It begins"},"event":"start","timestamp":1700000000,"content-state":{"goals":0,"half":"1"},"attributes-type":"Match","attributes":{"home":"A"}}}"#,
      pushType: "liveactivity", topic: "com.example.demo.push-type.liveactivity"),
    Case(
      sent:
        #""push_type":"liveactivity","topic":"com.example.demo","event":"end","timestamp":1700000000,"content-state":{"goals":1},"stale-date":1700000100,"dismissal-date":1700000200,"relevance-score":75.5,"apns_id":"6E4C6B4E-3F2B-4C2A-9C53-3B1C7B1B2F11""#,
      payload:
        #"{"aps":{"event":"end","timestamp":1700000000,"stale-date":1700000100,"dismissal-date":1700000200,"content-state":{"goals":1},"relevance-score":75.5}}"#,
      pushType: "liveactivity", topic: "com.example.demo.push-type.liveactivity", ignored: "ignored: apns_id"),
  ]

  /// The value with the members of its objects in the order of their names.
  private func sorted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let members):
      .object(members.map { JSONMember(key: $0.key, value: sorted($0.value)) }.sorted { $0.key < $1.key })
    case .array(let elements): .array(elements.map(sorted))
    default: value
    }
  }

  private func json(_ text: String) throws -> JSONValue { sorted(try JSONValue(parsing: Array(text.utf8))) }

  /// The payload of the job of `tokens`, which waits in the queue.
  private func payload(of tokens: [String], _ jobs: [[UInt8]]) throws -> JSONValue {
    let job = try jobs.map(JSONValue.init(parsing:)).first {
      $0["to"]?["tokens"] == .array(tokens.map(JSONValue.string))
    }
    return try #require(job?["payload"])
  }

  @Test func `a notif_id removes no job that a producer has scheduled under it`() async throws {
    let queue = fleet.unique("gorush-ids")
    let worker = try await fleet.worker(on: queue)
    let sidecar = try await fleet.sidecar("sidecar", ["MARTLET_QUEUES": queue, "MARTLET_GORUSH": "open"])
    let (id, scheduled, sent) = (fleet.unique("invoice"), fleet.uniqueToken(), fleet.uniqueToken())
    let due = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(scheduled)"},"title":"A","sendAt":\#(due)}"#, on: queue)
    try await eventually("it is scheduled") {
      try await fleet.redis("ZCARD", "martlet:{\(queue)}:scheduled").integer == 1
    }
    let body = #"{"notifications":[{"tokens":["\#(sent)"],"platform":1,"notif_id":"\#(id)","message":"B"}]}"#
    #expect(try await sidecar.ask("/api/push", as: "", body).status == 200)
    try await eventually("it is sent") { try await fleet.gateway.recent().contains { $0.token == sent } }
    #expect(try await fleet.redis("ZCARD", "martlet:{\(queue)}:scheduled").integer == 1)
    #expect(try await fleet.currentRecord(id)?.status != "accepted")
    #expect(try await worker.stop() == 0)
    #expect(try await sidecar.stop() == 0)
  }

  @Test func `every body arrives at every token as its sender means it`() async throws {
    let queue = fleet.unique("gorush")
    let sidecar = try await fleet.sidecar("sidecar", ["MARTLET_QUEUES": queue, "MARTLET_GORUSH": "open"])
    func successes() async throws -> Int64 {
      try await sidecar.ask("/api/stat/app", as: "").json["ios"]?["push_success"]?.integer(in: 0...Int64.max) ?? 0
    }
    // Those of the other tests of this fleet.
    let before = try await successes()
    let android = #"{"tokens":["t"],"platform":2,"message":"m"}"#
    var sizes: [String: Int] = [:]
    let tokens = Self.cases.map { _ in fleet.uniqueTokens(2) }
    for (sent, tokens) in zip(Self.cases, tokens) {
      let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
      let notification = #"{"tokens":[\#(list)],"platform":1,\#(sent.sent)}"#
      let (status, answer) = try await sidecar.ask(
        "/api/push", as: "", #"{"notifications":[\#(notification),\#(android)]}"#)
      #expect(status == 200)
      #expect(answer["counts"] == .integer(2), "\(answer)")
      let errors = answer["logs"]?.array?.compactMap { $0["error"]?.string } ?? []
      #expect(errors == [sent.ignored, "unsupported platform: Martlet sends to APNs only"].compactMap(\.self))
      let payload = try payload(of: tokens, await fleet.waiting(on: queue))
      #expect(sorted(payload) == (try json(sent.payload)), "\(sent.sent)")
      for token in tokens { sizes[token] = payload.bytes.count }
    }
    let worker = try await fleet.worker(on: queue)
    for (sent, token) in zip(Self.cases, tokens).flatMap({ sent, tokens in tokens.map { (sent, $0) } }) {
      try await eventually("\(sent.sent) arrives") {
        try await fleet.gateway.recent().contains { $0.token == token }
      }
      let push = try #require(try await fleet.gateway.recent().last { $0.token == token })
      #expect(push.status == 200, "\(sent.sent)")
      // A payload is sent byte for byte.
      #expect(push.payloadBytes == sizes[token])
      #expect(push.topic == sent.topic)
      #expect(push.pushType == sent.pushType)
      #expect(push.priority == sent.priority)
      #expect(push.collapseId == sent.collapseID)
      #expect(push.expiration == sent.expiration)
    }
    try await eventually("the statistics") { try await successes() == before + Int64(Self.cases.count * 2) }
    #expect(try await worker.stop() == 0)
    #expect(try await sidecar.stop() == 0)
  }
}
