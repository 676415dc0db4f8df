import APNs
import Testing
@testable import PushModel

struct PushTypeTests {
  @Test(arguments: [
    (PushType.alert, "com.a"), (.background, "com.a"), (.voip, "com.a.voip"), (.complication, "com.a.complication"),
    (.fileprovider, "com.a.pushkit.fileprovider"), (.location, "com.a.location-query"),
    (.liveactivity, "com.a.push-type.liveactivity"), (.pushtotalk, "com.a.voip-ptt"),
    (.controls, "com.a.push-type.controls"), (.widgets, "com.a.push-type.widgets"), (.mdm, "com.a"),
  ])
  func `each push type has its topic`(type: PushType, topic: String) {
    #expect(type.topic(bundleID: "com.a") == topic)
  }

  @Test func `only background pushes default to priority 5 and only voip may be larger`() {
    for type in PushType.allCases {
      #expect(type.defaultPriority == (type == .background ? 5 : 10))
      #expect(type.maximumPayloadBytes == (type == .voip ? 5120 : 4096))
    }
  }
}
