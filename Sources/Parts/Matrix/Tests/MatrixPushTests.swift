import Jobs
import JSON
import PushModel
import SidecarSupport
import Testing

@testable import Matrix
@testable import Sidecar

struct MatrixPushTests {
  private static let event = #","event_id":"$e","room_id":"!r""#

  private func push(_ members: String, device: String = "") throws -> (push: MatrixPush, payload: JSONValue) {
    let notification = try MatrixNotification(members, device: device)
    let push = try #require(MatrixPush(notification, to: notification.devices[0]))
    return (push, try JSONValue(parsing: push.payload))
  }

  private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

  @Test func `ids are added to the default payload, and no text`() throws {
    let aps = #"{"alert":{"loc-key":"N"},"mutable-content":1"#
    let (push, payload) = try push(
      Self.event
        + #","type":"m.room.message","sender":"@a:b","content":{"body":"secret"},"counts":{"unread":2,"missed_calls":1}"#,
      device: #","data":{"format":"event_id_only","default_payload":{"aps":\#(aps)},"client":"c"}}"#)
    #expect(
      try payload
        == json(
          #"{"client":"c","aps":\#(aps),"badge":3},"room_id":"!r","event_id":"$e","unread_count":2,"missed_calls":1}"#))
    #expect(push.pushType == .alert)
  }

  @Test func `ids without an alert wake the app`() throws {
    let (push, payload) = try push(Self.event, device: #","data":{"default_payload":{"aps":7}}"#)
    #expect(try payload == json(#"{"aps":{"content-available":1},"room_id":"!r","event_id":"$e"}"#))
    #expect(push.pushType == .background)
    let (counted, both) = try self.push(Self.event + #","counts":{"unread":1}"#)
    #expect(
      both["aps"]
        == .object([.init(key: "badge", value: .integer(1)), .init(key: "content-available", value: .integer(1))]))
    #expect(counted.pushType == .alert)
  }

  @Test func `an update of counts is a badge without the default payload`() throws {
    let (push, payload) = try push(
      #","event_id":"","id":"","type":null,"sender":"","counts":{"unread":0}"#,
      device: #","data":{"format":"event_id_only","default_payload":{"aps":{"alert":"New"}}}"#)
    #expect(try payload == json(#"{"aps":{"badge":0},"unread_count":0}"#))
    #expect(push.pushType == .alert)
  }

  @Test func `without an event and without counts there is nothing to send`() throws {
    let notification = try MatrixNotification(#","prio":"high","room_id":"!r""#)
    #expect(MatrixPush(notification, to: notification.devices[0]) == nil)
  }

  @Test(arguments: [
    (#""type":"m.room.message","content":{"msgtype":"m.text","body":" Hi\u0000\u0007\n"}"#, "Hi"),
    (#""type":"m.room.message""#, "New message"), (#""type":"m.room.encrypted""#, "New message"),
    (#""type":"m.room.message","content":{"body":" \n"}"#, "New message"), (#""type":"m.call.invite""#, "Call"),
    (#""type":"m.room.member","user_is_target":true,"content":{"membership":"invite"}"#, "Invitation"),
    (#""type":"m.room.member","content":{"membership":"invite"}"#, "New message"),
    (#""type":"org.example.poll","content":{"body":"x"}"#, "New message"),
  ])
  func `the text says what kind of event it is`(members: String, body: String) throws {
    let alert = try push(Self.event + "," + members).payload["aps"]?["alert"]
    #expect(alert == .object([.init(key: "body", value: .string(body))]))
  }

  @Test func `sender, room and tweaks are shown, and replace a localised text`() throws {
    let payload = try push(
      Self.event
        + #","type":"m.room.message","sender":"@a:b","sender_display_name":"Ann\nB","room_alias":"k:b","content":{"body":"Hi"}"#,
      device:
        #","data":{"default_payload":{"aps":{"alert":{"loc-key":"N","title-loc-args":[],"launch-image":"i"},"sound":"a"}}},"tweaks":{"sound":"bing","highlight":true}"#
    ).payload
    #expect(
      try payload
        == json(
          #"{"aps":{"alert":{"launch-image":"i","title":"Ann B","subtitle":"k:b","body":"Hi"},"sound":"bing"},"room_id":"!r","event_id":"$e","highlight":true}"#
        ))
  }

  @Test(arguments: ["x", "ä", "👩‍👩‍👧‍👦", #"\""#, #"\u00e9"#])
  func `a long text is cut, and the payload stays valid`(letter: String) throws {
    let text = "a" + String(repeating: letter, count: 20_000 / letter.utf8.count) + "a"
    for fill in [0, 1800, 3000, 3900, 3950] {
      let base = #","data":{"default_payload":{"aps":{},"fill":"\#(String(repeating: "f", count: fill))"}}"#
      let (push, payload) = try push(
        Self.event
          + #","type":"m.room.message","sender":"\#(text)","room_name":"\#(text)","content":{"body":"\#(text)"}"#,
        device: base)
      #expect(push.payload.count <= 4096)
      let body = try #require(payload["aps"]?["alert"]?["body"]?.string)
      #expect(body.hasSuffix("…"))
      #expect(!body.contains("\u{FFFD}"))
      #expect(payload["event_id"]?.string == "$e")
      #expect((payload["fill"]?.string?.count ?? 0) == (fill < 3900 ? fill : 0) || fill >= 3000)
    }
  }

  @Test func `a default payload that leaves no room is left out`() throws {
    let base =
      #","data":{"format":"event_id_only","default_payload":{"fill":"\#(String(repeating: "f", count: 5000))"}}"#
    let (push, payload) = try push(Self.event, device: base)
    #expect(try payload == json(#"{"aps":{"content-available":1},"room_id":"!r","event_id":"$e"}"#))
    #expect(push.pushType == .background)
  }

  @Test(arguments: [("high", 10), ("low", 5), ("other", 10)])
  func `one event to one pusher is one job`(prio: String, priority: Int) throws {
    let pusher = Pusher(environment: nil, setAt: 7, address: "203.0.113.7")
    func job(_ members: String) throws -> Job {
      let notification = try MatrixNotification(members + #","prio":"\#(prio)""#)
      let device = notification.devices[0]
      let push = try #require(MatrixPush(notification, to: device))
      return try Job(
        parsing: push.job(notification, to: device, #require(device.token), of: "com.a", pusher))
    }
    let first = try job(Self.event + #","type":"m.room.message""#)
    #expect(first.addressee == .token(DeviceToken(String(repeating: "ab", count: 32))))
    #expect(first.app == "com.a")
    #expect(first.pusher == pusher)
    #expect(first.priority == priority)
    #expect(first.dedupe == first.id)
    // Another try may have other counts.
    #expect(try job(Self.event + #","counts":{"unread":7}"#).id == first.id)
    #expect(try job(#","event_id":"$f","type":"x""#).id != first.id)
    let (badge, again) = (try job(#","counts":{"unread":7}"#), try job(#","counts":{"unread":7}"#))
    #expect(badge.dedupe == nil)
    #expect(badge.id != again.id)
    // A push that only wakes the app has one priority.
    #expect(try job(Self.event).priority == 5)
  }
}
