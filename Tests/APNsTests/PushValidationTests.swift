import EventLoop
import Testing

@testable import APNs
@testable import PushModel

@EventLoop
struct PushValidationTests {
  @Test func `a well-formed push is not refused`() {
    #expect(TestPush.make(collapseID: "score é", apnsID: "00000000-0000-4000-8000-ABCDEFabcdef").localRefusal == nil)
  }

  @Test func `an invalid push is not sent, and has no status of APNs`() {
    let long = String(repeating: "a", count: 65)
    let big = [UInt8](repeating: 0x20, count: 4097)
    let cases: [(Push, String)] = [
      (TestPush.make(token: ""), "MissingDeviceToken"),
      (TestPush.make(token: "abc/../d"), "NotAnAPNsToken"),
      (TestPush.make(token: String(repeating: "a", count: 1025)), "NotAnAPNsToken"),
      (TestPush.make(token: String(repeating: "a", count: 62)), "NotAnAPNsToken"),
      (TestPush.make(token: String(repeating: "a", count: 65)), "NotAnAPNsToken"),
      (TestPush.make(token: "é"), "NotAnAPNsToken"),
      (TestPush.make(topic: ""), "MissingTopic"),
      (TestPush.make(topic: "com.a\r\nx: y"), "BadTopic"),
      (TestPush.make(priority: 7), "BadPriority"),
      (TestPush.make(expiration: -1), "BadExpirationDate"),
      (TestPush.make(collapseID: long), "BadCollapseId"),
      (TestPush.make(collapseID: "a\u{0}"), "BadCollapseId"),
      (TestPush.make(apnsID: "no uuid"), "BadMessageId"),
      (TestPush.make(apnsID: "00000000000004000080000000000000000001"), "BadMessageId"),
      (TestPush.make(apnsID: "0000000--0000-4000-8000-000000000001"), "BadMessageId"),
      (TestPush.make(payload: []), "PayloadEmpty"),
      (TestPush.make(payload: big), "PayloadTooLarge"),
    ]
    for (push, reason) in cases {
      #expect(push.localRefusal?.status == 0)
      #expect(push.localRefusal?.reason == reason)
    }
    #expect(TestPush.make(pushType: .voip, payload: big).localRefusal == nil)
  }
}
