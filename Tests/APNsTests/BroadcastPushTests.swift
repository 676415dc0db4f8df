import CNGHTTP2
import EventLoop
import PushModel
import Testing

@testable import APNs

/// Pushes to a channel.
@EventLoop
struct BroadcastPushTests {
  private static let id = "dHN0LXNyY2gtY2hubA=="

  private func push(
    _ id: String = id, bundleID: String = "com.example.demo", expiration: Int64? = nil, bytes: Int = 10
  ) -> Push {
    let message = Push.Message(
      payload: [UInt8](repeating: 0x20, count: bytes), pushType: .liveactivity, priority: 5, expiration: expiration)
    let topic = SharedContent.channels(of: bundleID)
    return Push(
      token: id, apnsID: TestPush.id(1),
      shared: SharedContent(message: message, topic: topic, environment: .sandbox, isBroadcast: true), evidence: .none)
  }

  /// The header block, by name.
  private func fields(
    of push: Push, _ headers: RequestHeaders = RequestHeaders(authority: "a.example")
  ) -> [String: String] {
    var found: [String: String] = [:]
    _ = headers.with(push, authorization: Array("bearer x".utf8)) { fields, count in
      for field in UnsafeBufferPointer(start: fields, count: count) {
        let name = String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self)
        found[name] = String(decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
      }
      return 0
    }
    return found
  }

  @Test func `a broadcast names the app and the channel, and has no topic`() {
    #expect(
      fields(of: push(expiration: 7)) == [
        ":method": "POST", ":scheme": "https", ":authority": "a.example",
        ":path": "/4/broadcasts/apps/com.example.demo", "authorization": "bearer x", "apns-channel-id": Self.id,
        "apns-push-type": "liveactivity", "apns-priority": "5", "apns-expiration": "7",
        "apns-request-id": TestPush.id(1),
      ])
  }

  @Test func `a broadcast without an expiration is not stored, because APNs wants one to be said`() {
    #expect(fields(of: push())["apns-expiration"] == "0")
    #expect(fields(of: TestPush.make())["apns-expiration"] == nil)
  }

  @Test func `a push to a device is what it was`() {
    let fields = fields(of: TestPush.make())
    #expect(fields[":path"] == "/3/device/\(TestPush.token)")
    #expect(fields["apns-topic"] == "com.example.demo")
    #expect(fields["apns-id"] == TestPush.id(1))
    #expect(fields["apns-channel-id"] == nil && fields["apns-request-id"] == nil)
  }

  @Test func `the longest push that is valid has room for its header, and leaves nothing of it to the next`() {
    let headers = RequestHeaders(authority: "a.example")
    let topic = String(repeating: "a", count: 256)
    let longest = TestPush.make(
      token: String(repeating: "a", count: 200), topic: topic, pushType: .liveactivity, expiration: .max,
      collapseID: String(repeating: "c", count: 64))
    #expect(longest.localRefusal == nil)
    #expect(fields(of: longest, headers)["apns-topic"] == topic)
    #expect(fields(of: longest, headers)["apns-expiration"] == String(Int64.max))
    let broadcast = push(
      String(repeating: "a", count: 256), bundleID: String(repeating: "b", count: 247), expiration: .max)
    #expect(broadcast.localRefusal == nil)
    #expect(fields(of: broadcast, headers)[":path"]?.utf8.count == 266)
    #expect(fields(of: TestPush.make(), headers) == fields(of: TestPush.make()))
  }

  @Test func `a broadcast may have 5,120 bytes and needs a channel id that fits into a header`() {
    #expect(push(bytes: 5120).localRefusal == nil)
    #expect(push(bytes: 5121).localRefusal == APNsAnswer(unsent: "PayloadTooLarge"))
    #expect(push("").localRefusal == APNsAnswer(unsent: "MissingChannelId"))
    for id in ["a b", "a\r\nx: y", "é", String(repeating: "a", count: 257)] {
      #expect(push(id).localRefusal == APNsAnswer(unsent: "BadChannelId"))
    }
  }

  @Test func `broadcasts have a route of their own, and belong to their app`() {
    let (broadcast, device) = (push(), TestPush.make(topic: "com.example.demo.push-type.liveactivity"))
    #expect(broadcast.shared.topic != device.shared.topic)
    #expect(broadcast.shared.topicBundleID == "com.example.demo")
    #expect(!BundleID.isWellFormed(broadcast.shared.topic))
  }

  @Test func `an unknown channel fails alone, and an app without the feature fails as a whole`() {
    #expect(APNsAnswer(status: 400, reason: "ChannelNotRegistered").meaning == .failed)
    #expect(APNsAnswer(status: 400, reason: "FeatureNotEnabled").meaning == .badJob)
  }
}
