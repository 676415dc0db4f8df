import Testing

@testable import Simulator

struct LiveActivityPayloadTests {
  private static let start = LiveActivityPayload.startFields(input: nil)
  private static let state = #""content-state":{"a":1}"#

  @Test(arguments: [
    (#""timestamp":1,"event":"update",\#(state)"#, true), (#""timestamp":1,"event":"end""#, true),
    (#""timestamp":1,"event":"end",\#(state)"#, true), (#""timestamp":1,\#(start),\#(state)"#, true),
    (#""timestamp":1,\#(start),\#(state),"input-push-token":1"#, true),
    (#""timestamp":1,\#(start),\#(state),"input-push-channel":"YQ==""#, true),
    (#""event":"update",\#(state)"#, false), (#""timestamp":1.5,"event":"update",\#(state)"#, false),
    (#""timestamp":"1","event":"update",\#(state)"#, false),
    (#""timestamp":1700000000000,"event":"update",\#(state)"#, false),
    (#""timestamp":1,\#(state)"#, false), (#""timestamp":1,"event":"stop",\#(state)"#, false),
    (#""timestamp":1,"event":"update""#, false), (#""timestamp":1,"event":"update","content-state":"a""#, false),
    (#""timestamp":1,"event":"end","content-state":[]"#, false), (#""timestamp":1,\#(start)"#, false),
    (#""timestamp":1,"event":"start","attributes-type":"Ride","attributes":{},\#(state)"#, false),
    (#""timestamp":1,"event":"start","attributes-type":"Ride","alert":{"title":"a"},\#(state)"#, false),
    (#""timestamp":1,"event":"start","attributes":{},"alert":{"title":"a"},\#(state)"#, false),
    (#""timestamp":1,\#(start),\#(state),"input-push-token":1,"input-push-channel":"YQ==""#, false),
    (#""timestamp":1,\#(start),\#(state),"input-push-token":true"#, false),
    (#""timestamp":1,\#(start),\#(state),"input-push-channel":"""#, false),
  ])
  func `a payload has what its event needs`(fields: String, isValid: Bool) {
    let body = Array("{\"aps\":{\(fields)}}".utf8)
    let head = RequestHead(changing: ["apns-push-type": "liveactivity"])
    #expect(PushRules().refusal(ofContent: body, head: head) == (isValid ? nil : Answer(400, "BadPayload")))
  }

  @Test(arguments: [
    ("com.example.demo", "10", Answer(400, "BadTopic")), ("com.example.demo.push-type.liveactivity", "10", nil),
    ("com.example.demo.push-type.liveactivity", "5", nil),
    ("com.example.demo.push-type.liveactivity", "1", Answer(400, "BadPriority")),
  ])
  func `topic and priority are those of Live Activities`(topic: String, priority: String, refusal: Answer?) {
    let head = RequestHead(
      changing: ["apns-push-type": "liveactivity", "apns-topic": topic, "apns-priority": priority])
    #expect(PushRules().refusalOfFields(head) == refusal)
  }

  @Test func `a payload has at most 4,096 bytes`() {
    let head = RequestHead(changing: ["apns-push-type": "liveactivity"])
    #expect(PushRules().refusal(ofBody: 4096, isObject: true, head: head) == nil)
    #expect(PushRules().refusal(ofBody: 4097, isObject: true, head: head) == Answer(413, "PayloadTooLarge"))
  }
}
