import Crypto
import JSON
import PushModel
import Registry
import SidecarSupport
import Testing

@testable import Matrix
@testable import Sidecar

extension MatrixNotification {
  /// `members` are those of a notification, without braces. `device` has further members of its only device.
  init(_ members: String, device: String = "") throws {
    let device = #"{"app_id":"im.app","pushkey":"\#(String(repeating: "ab", count: 32))"\#(device)}"#
    let text = #"{"notification":{"devices":[\#(device)]\#(members)}}"#
    try self.init(JSONValue(parsing: Array(text.utf8)))
  }
}

struct MatrixNotificationTests {
  private static let token = (0..<32).map { UInt8((37 * $0 + 251) % 256) }

  private func device(_ pushkey: String, _ members: String = "") throws -> MatrixDevice {
    let quoted = String(decoding: JSONValue.string(pushkey).bytes, as: UTF8.self)
    return try #require(
      try MatrixDevice(JSONValue(parsing: Array(#"{"app_id":"a","pushkey":\#(quoted)\#(members)}"#.utf8))))
  }

  @Test func `a pushkey is base64 in either alphabet, padded or not, or hexadecimal digits`() throws {
    let (hex, base64) = (Hex.encode(Self.token), Base64.encode(Self.token))
    let url = String(decoding: Base64URL.encode(Self.token), as: UTF8.self)
    #expect(base64.contains("+") || base64.contains("/"))
    for pushkey in [hex, hex.uppercased(), base64, String(base64.dropLast()), url, url + "="] {
      #expect(try device(pushkey).token?.text == hex, "\(pushkey)")
    }
    // Apple may make tokens longer.
    let bytes = (0..<256).map { UInt8((37 * $0 + 251) % 256) }
    let long = Hex.encode(bytes)
    for pushkey in [long, long.uppercased(), Base64.encode(bytes)] {
      #expect(try device(pushkey).token?.text == long)
    }
    // 64 digits are 64 digits, and not base64.
    #expect(try device(String(repeating: "ab", count: 32)).token?.text == String(repeating: "ab", count: 32))
  }

  @Test(arguments: [
    "", "abcd", "AAAA", "not base64 at all, really", "https://example.com/push", String(repeating: "g", count: 65),
    String(repeating: "A", count: 513), String(repeating: "ab", count: 257), String(repeating: "a", count: 63),
    String(repeating: "a", count: 65), String(repeating: "ab", count: 31), "q83vASNFZ4mrze8BI0VniavN7wEjRWeJ",
    "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k==",
    "+*83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4",
  ])
  func `other text is no pushkey`(pushkey: String) throws {
    #expect(try device(pushkey).token == nil)
  }

  @Test(arguments: [
    "", #""notification":null"#, #""notification":{}"#, #""notification":{"devices":{}}"#,
    #""notification":{"devices":[\#(Array(repeating: #"{"app_id":"a","pushkey":"b"}"#, count: 101).joined(separator: ","))]}"#,
  ])
  func `a body without a list of devices is refused`(members: String) throws {
    let body = try JSONValue(parsing: Array("{\(members)}".utf8))
    let refusal = #expect(throws: Refusal.self) { _ = try MatrixNotification(body) }
    #expect(refusal?.status == 400)
  }

  @Test func `members of the wrong type count as absent`() throws {
    let notification = try MatrixNotification(
      #","event_id":7,"room_id":[],"type":null,"counts":{"unread":-1,"missed_calls":1.5},"prio":"urgent","content":"x""#,
      device: #","pushkey_ts":-5,"data":"x","tweaks":{"sound":true,"highlight":"yes"}"#)
    #expect(!notification.isOfEvent)
    #expect(notification.badge == nil)
    #expect(notification.isUrgent)
    let device = notification.devices[0]
    #expect(device.setAt == 0)
    #expect(device.defaultPayload == [])
    #expect(device.sound == nil)
    #expect(!device.isHighlighted)
  }

  @Test(arguments: [#""x""#, "[]", "7"])
  func `a default payload that is no object never works`(value: String) throws {
    #expect(try device("a", #","data":{"default_payload":\#(value)}"#).defaultPayload == nil)
    #expect(try device("a", #","data":{"default_payload":null}"#).defaultPayload == [])
  }

  @Test(
    arguments: [
      ("0", 999), ("1790000000", 1_790_000_000_999), ("1790000000000", 1_790_000_000_999),
      ("1790000000000000", 1_790_000_000_999), ("1790000000000000000", 1_790_000_000_999),
    ] as [(String, Int64)])
  func `the time of a pusher is in seconds, and in another unit if it must be`(sent: String, setAt: Int64) throws {
    #expect(try device("a", #","pushkey_ts":\#(sent)"#).setAt == setAt)
  }
}
