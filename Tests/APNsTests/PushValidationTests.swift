import EventLoop
import Testing

@testable import APNs
@testable import PushModel

@EventLoop
struct PushValidationTests {
  @Test func `a well-formed push is not refused`() {
    #expect(TestPush.make(collapseID: "score é", apnsID: "00000000-0000-4000-8000-ABCDEFabcdef").localRefusal == nil)
  }

  @Test func `an invalid push is refused with Apple's reason`() {
    let long = String(repeating: "a", count: 65)
    let big = [UInt8](repeating: 0x20, count: 4097)
    let cases: [(Push, Int, String)] = [
      (TestPush.make(token: ""), 400, "MissingDeviceToken"),
      (TestPush.make(token: "abc/../d"), 400, "BadDeviceToken"),
      (TestPush.make(token: String(repeating: "a", count: 1025)), 400, "BadDeviceToken"),
      (TestPush.make(token: "é"), 400, "BadDeviceToken"),
      (TestPush.make(topic: ""), 400, "MissingTopic"),
      (TestPush.make(topic: "com.a\r\nx: y"), 400, "BadTopic"),
      (TestPush.make(priority: 7), 400, "BadPriority"),
      (TestPush.make(expiration: -1), 400, "BadExpirationDate"),
      (TestPush.make(collapseID: long), 400, "BadCollapseId"),
      (TestPush.make(collapseID: "a\u{0}"), 400, "BadCollapseId"),
      (TestPush.make(apnsID: "no uuid"), 400, "BadMessageId"),
      (TestPush.make(apnsID: "00000000000004000080000000000000000001"), 400, "BadMessageId"),
      (TestPush.make(apnsID: "0000000--0000-4000-8000-000000000001"), 400, "BadMessageId"),
      (TestPush.make(payload: []), 400, "PayloadEmpty"),
      (TestPush.make(payload: big), 413, "PayloadTooLarge"),
    ]
    for (push, status, reason) in cases {
      #expect(push.localRefusal == APNsAnswer(status: status, reason: reason))
    }
    #expect(TestPush.make(pushType: .voip, payload: big).localRefusal == nil)
  }
}
