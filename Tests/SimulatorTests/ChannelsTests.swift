import Testing

@testable import Simulator

struct ChannelsTests {
  private static let app = "com.example.demo"
  private static let stored = Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8)

  @Test(arguments: [
    ("", "PayloadEmpty"), ("[]", "BadRequestPayload"), ("{", "BadRequestPayload"),
    (#"{"message-storage-policy":1}"#, "MissingPushType"),
    (#"{"message-storage-policy":1,"push-type":"alert"}"#, "InvalidPushType"),
    (#"{"push-type":"LiveActivity"}"#, "BadRequestPayload"),
    (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "BadRequestPayload"),
  ])
  func `an invalid channel is not created`(body: String, reason: String) {
    var channels = Channels()
    #expect(channels.create(Array(body.utf8), for: Self.app) == Answer(400, reason))
    #expect(channels.apps.isEmpty)
  }

  @Test func `a channel is created, read, listed and deleted`() throws {
    var channels = Channels()
    let created = channels.create(Self.stored, for: Self.app)
    let id = try #require(created.channelID)
    #expect(created.status == 201 && created.body.isEmpty && id.hasSuffix("==") && id.count == 24)
    let name = Array(id.utf8)[...]
    #expect(channels.read(name, of: Self.app).body == Self.stored)
    #expect(channels.list(of: Self.app).body == Array(#"{"channels":["\#(id)"]}"#.utf8))
    #expect(channels.read(name, of: "com.example.other") == Answer(400, "ChannelNotRegistered"))
    #expect(channels.delete(name, of: Self.app).status == 204)
    #expect(channels.delete(name, of: Self.app) == Answer(400, "ChannelNotRegistered"))
    #expect(channels.list(of: Self.app).body == Array(#"{"channels":[]}"#.utf8))
  }

  @Test func `an app has a limited number of channels`() {
    var channels = Channels(limit: 2)
    for _ in 1...2 { #expect(channels.create(Self.stored, for: Self.app).status == 201) }
    #expect(channels.create(Self.stored, for: Self.app) == Answer(400, "CannotCreateChannelConfig"))
    #expect(channels.create(Self.stored, for: "com.example.other").status == 201)
  }

  @Test(arguments: [
    (nil, "MissingChannelId"), ("", "MissingChannelId"), ("a", "BadChannelId"), ("a-b=", "BadChannelId"),
  ])
  func `a channel id is base64`(id: String?, reason: String) {
    #expect(Channels().read(id.map { Array($0.utf8)[...] }, of: Self.app) == Answer(400, reason))
  }

  @Test(arguments: [
    ("POST", "/1/apps/com.example.demo/channels", nil), ("GET", "/1/apps/com.example.demo/all-channels", nil),
    ("DELETE", "/1/apps/com.example.demo/all-channels", Answer(405, "MethodNotAllowed")),
    ("PUT", "/1/apps/com.example.demo/channels", Answer(405, "MethodNotAllowed")),
    ("GET", "/1/apps//channels", Answer(404, "BadPath")), ("GET", "/1/apps/a/b/channels", Answer(404, "BadPath")),
    ("POST", "/3/device/ab", Answer(404, "BadPath")),
  ])
  func `the port for channels has their paths only`(method: String, path: String, refusal: Answer?) {
    let head = RequestHead(changing: [":method": method, ":path": path])
    #expect(PushRules().refusal(of: RequestTarget(head, on: .channels), head) == refusal)
  }

  @Test func `the port for pushes has broadcasts, too`() {
    let head = RequestHead(changing: [":path": "/4/broadcasts/apps/com.example.demo"])
    #expect(RequestTarget(head, on: .pushes) == .broadcast(bundleID: Self.app))
    #expect(RequestTarget(RequestHead(changing: [:]), on: .pushes) == .push)
    let get = RequestHead(changing: [":path": "/4/broadcasts/apps/com.example.demo", ":method": "GET"])
    #expect(PushRules().refusal(of: RequestTarget(get, on: .pushes), get) == Answer(405, "MethodNotAllowed"))
  }

  @Test func `a bundle id has no suffix and is allowed, and a request id is a UUID`() {
    var rules = PushRules()
    let head = RequestHead(changing: [:])
    #expect(rules.refusal(ofApp: Self.app, head) == nil)
    #expect(rules.refusal(ofApp: Self.app + ".push-type.liveactivity", head) == Answer(400, "TopicDisallowed"))
    rules.topics = ["com.example.other.push-type.liveactivity"]
    #expect(rules.refusal(ofApp: Self.app, head) == Answer(400, "TopicDisallowed"))
    #expect(rules.refusal(ofApp: "com.example.other", head) == nil)
    let bad = RequestHead(changing: ["apns-request-id": "1"])
    #expect(rules.refusal(ofApp: "com.example.other", bad) == Answer(400, "BadMessageId"))
  }

  private static let update = #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#

  @Test(
    arguments: [
      ([:], update, true, nil), ([:], update, false, "BadExpirationDate"),
      (["apns-expiration": "0"], update, false, nil), (["apns-expiration": "9"], update, false, "BadExpirationDate"),
      (["apns-expiration": "9"], update, true, nil), (["apns-expiration": "x"], update, true, "BadExpirationDate"),
      (["apns-push-type": nil], update, true, "MissingPushType"),
      (["apns-push-type": "alert"], update, true, "InvalidPushType"),
      (["apns-priority": "1"], update, true, nil), (["apns-priority": "3"], update, true, "BadPriority"),
      ([:], "", true, "PayloadEmpty"), ([:], "{}", true, "BadRequestPayload"),
      (
        [:], #"{"aps":{"timestamp":1,\#(LiveActivityPayload.startFields()),"content-state":{}}}"#, true,
        "BadRequestPayload"
      ),
    ] as [([String: String?], String, Bool, String?)])
  func `a broadcast gets Apple's answer`(
    changes: [String: String?], body: String, keepsNewest: Bool, reason: String?
  ) {
    let type = changes["apns-push-type"] ?? "liveactivity"
    let head = RequestHead(changing: [
      "apns-push-type": type, "apns-expiration": changes["apns-expiration"] ?? nil,
      "apns-priority": changes["apns-priority"] ?? nil,
    ])
    let refusal = PushRules().refusal(
      ofBroadcast: head, Array(body.utf8), to: Channels.Channel(keepsNewest: keepsNewest))
    #expect(refusal?.reason == reason)
  }

  @Test func `a broadcast has at most 5,120 bytes`() {
    let head = RequestHead(changing: ["apns-push-type": "liveactivity"])
    func refusal(_ count: Int) -> Answer? {
      let start = #"{"aps":{"timestamp":1,"event":"update","content-state":{"a":""#
      let body = start + String(repeating: "x", count: count - start.utf8.count - 4) + "\"}}}"
      return PushRules().refusal(ofBroadcast: head, Array(body.utf8), to: Channels.Channel(keepsNewest: true))
    }
    #expect(refusal(5120) == nil && refusal(5121) == Answer(413, "PayloadTooLarge"))
  }
}
