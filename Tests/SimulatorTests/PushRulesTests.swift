import Testing

@testable import Simulator

struct PushRulesTests {
  struct Case: CustomTestStringConvertible {
    let changes: KeyValuePairs<String, String?>
    let refusal: Answer?

    init(_ changes: KeyValuePairs<String, String?>, _ status: Int = 200, _ reason: String? = nil) {
      self.changes = changes
      refusal = status == 200 ? nil : Answer(status, reason)
    }

    var testDescription: String { "\(refusal?.reason ?? "good"): \(changes)" }
  }

  static let cases = [
    Case([:]),
    Case([":method": "GET"], 405, "MethodNotAllowed"),
    Case([":path": "/"], 404, "BadPath"),
    Case([":path": "/3/devices/ab"], 404, "BadPath"),
    Case([":path": "/3/device/"], 400, "MissingDeviceToken"),
    Case([":path": "/3/device/xyz"], 400, "BadDeviceToken"),
    Case([":path": "/3/device/\(String(repeating: "ab", count: 31))"], 400, "BadDeviceToken"),
    Case([":path": "/3/device/\(String(repeating: "ab", count: 32))a"], 400, "BadDeviceToken"),
    Case([":path": "/3/device/\(String(repeating: "AB", count: 100))"]),
    Case([":path": "/3/device/\(String(repeating: "ab", count: 513))"], 400, "BadDeviceToken"),
    Case(["apns-topic": nil], 400, "MissingTopic"),
    Case(["apns-topic": ""], 400, "MissingTopic"),
    Case(["apns-topic": "com.example.other"], 400, "TopicDisallowed"),
    Case(["apns-push-type": "alert"]),
    Case(["apns-push-type": "shout"], 400, "InvalidPushType"),
    Case(["apns-push-type": "voip"], 400, "BadTopic"),
    Case(["apns-push-type": "voip", "apns-topic": "com.example.demo.voip"]),
    Case(["apns-push-type": "background"], 400, "BadPriority"),
    Case(["apns-push-type": "background", "apns-priority": "10"], 400, "BadPriority"),
    Case(["apns-push-type": "background", "apns-priority": "5"]),
    Case(["apns-push-type": "pushtotalk", "apns-topic": "com.example.demo.voip-ptt"]),
    Case(
      ["apns-push-type": "pushtotalk", "apns-topic": "com.example.demo.voip-ptt", "apns-priority": "5"], 400,
      "BadPriority"),
    Case(
      ["apns-push-type": "pushtotalk", "apns-topic": "com.example.demo.voip-ptt", "apns-expiration": "1800000000"], 400,
      "BadExpirationDate"),
    Case(
      ["apns-push-type": "location", "apns-topic": "com.example.demo.location-query", "apns-priority": "1"], 400,
      "BadPriority"),
    Case(["apns-push-type": "location", "apns-topic": "com.example.demo.location-query", "apns-priority": "5"]),
    Case(["apns-priority": "1"]),
    Case(["apns-priority": "7"], 400, "BadPriority"),
    Case(["apns-id": "123E4567-e89b-12d3-a456-426614174000"]),
    Case(["apns-id": "123e4567e89b12d3a456426614174000"], 400, "BadMessageId"),
    Case(["apns-id": "123e4567-e89b-12d3-a456-42661417400g"], 400, "BadMessageId"),
    Case(["apns-expiration": "0"]),
    Case(["apns-expiration": "soon"], 400, "BadExpirationDate"),
    Case(["apns-expiration": ""], 400, "BadExpirationDate"),
    Case(["apns-collapse-id": String(repeating: "c", count: 64)]),
    Case(["apns-collapse-id": String(repeating: "c", count: 65)], 400, "BadCollapseId"),
    Case(["apns-priority": "5", "APNS-other": "x"]),
  ]

  @Test(arguments: cases)
  func `a head gets Apple's answer`(example: Case) {
    var rules = PushRules()
    rules.topics = Set(["", ".voip", ".voip-ptt", ".location-query"].map { "com.example.demo\($0)" })
    let head = RequestHead(changing: example.changes)
    #expect((rules.refusalOfTarget(head) ?? rules.refusalOfFields(head)) == example.refusal)
  }

  @Test func `a header that comes twice is refused`() {
    let head = RequestHead(changing: ["apns-priority": "5", "apns-priority": "5"])
    #expect(PushRules().refusalOfTarget(head) == Answer(400, "DuplicateHeaders"))
  }

  @Test(arguments: [
    (0, "alert", Answer(400, "PayloadEmpty")), (4096, "alert", nil), (4097, "alert", Answer(413, "PayloadTooLarge")),
    (5120, "voip", nil), (5121, "voip", Answer(413, "PayloadTooLarge")),
  ])
  func `payloads have a size limit`(count: Int, type: String, refusal: Answer?) {
    let head = RequestHead(changing: ["apns-push-type": type])
    #expect(PushRules().refusal(ofBody: count, isObject: true, head: head) == refusal)
  }

  @Test(arguments: [
    ("{}", true), (" {\"aps\":{}}\n", true), ("[]", false), ("{", false), ("  ", false), ("null", false),
    ("{} {}", false), ("{a}", false),
  ])
  func `a payload is a JSON object`(text: String, isObject: Bool) {
    #expect(isJSONObject(Array(text.utf8)) == isObject)
  }

  @Test(arguments: [
    ("widgets", #"{"aps":{"content-changed":true}}"#, true), ("controls", #"{"aps":{"content-changed":true}}"#, true),
    ("widgets", "{}", false), ("controls", #"{"aps":{"content-changed":1}}"#, false),
    ("widgets", #"{"aps":{"alert":"x"}}"#, false), ("alert", "{}", true),
  ])
  func `widgets and controls are told that their content has changed`(type: String, body: String, isValid: Bool) {
    let head = RequestHead(changing: ["apns-push-type": type])
    let refusal = PushRules().refusal(ofContent: Array(body.utf8), head: head)
    #expect(refusal == (isValid ? nil : Answer(400, "BadPayload")))
  }

  @Test func `a bound token is for its environment, then for its topic`() {
    var devices = Devices()
    let binding = TokenBinding(environment: .sandbox, bundleID: "com.example.demo", kind: .app)
    devices.bind(RequestHead.token.uppercased(), to: binding)
    let (own, other) = (RequestHead(changing: [:]), RequestHead(changing: ["apns-topic": "com.example.demo.voip"]))
    #expect(devices.refusal(of: own, in: .sandbox) == nil)
    #expect(devices.refusal(of: own) == nil, "a gateway without an environment has the tokens of both")
    #expect(devices.refusal(of: other, in: .sandbox) == Answer(400, "DeviceTokenNotForTopic"))
    #expect(devices.refusal(of: other, in: .production) == Answer(400, "BadDeviceToken"))
    devices.set(.unregistered(since: 7), for: RequestHead.token)
    #expect(devices.refusal(of: own, in: .sandbox)?.status == 410)
    #expect(devices.refusal(of: own, in: .production) == Answer(400, "BadDeviceToken"))
    devices.set(nil, for: RequestHead.token)
    #expect(devices.refusal(of: own, in: .production) == Answer(400, "BadDeviceToken"), "the binding stays")
    devices.remove(RequestHead.token)
    #expect(devices.refusal(of: own, in: .production) == nil)
  }

  @Test func `each kind of token has its topic`() {
    let topics = TokenKind.allCases.map { TokenBinding(environment: .sandbox, bundleID: "a", kind: $0).topic }
    #expect(
      topics == [
        "a", "a.voip", "a.complication", "a.pushkit.fileprovider", "a.location-query", "a.push-type.widgets",
        "a.push-type.controls", "a.voip-ptt",
      ])
  }

  @Test func `a device's rule is found for a token in upper or lower case`() {
    var devices = Devices()
    devices.set(.unregistered(since: 7), for: RequestHead.token.uppercased())
    #expect(devices.refusal(of: RequestHead())?.reason == nil)
    #expect(devices.refusal(of: RequestHead(changing: [:])) == Answer(410, "Unregistered", timestamp: 7))
    devices.set(.forTopic("com.example.demo"), for: RequestHead.token)
    #expect(devices.refusal(of: RequestHead(changing: [:])) == nil)
    #expect(
      devices.refusal(of: RequestHead(changing: ["apns-topic": "x"])) == Answer(400, "DeviceTokenNotForTopic"))
    devices.remove(RequestHead.token)
    #expect(devices.count == 0)
  }

  @Test func `an answer's body is what Apple sends`() {
    #expect(
      String(decoding: Answer(410, "Unregistered", timestamp: 12).body, as: UTF8.self)
        == #"{"reason":"Unregistered","timestamp":12}"#)
    #expect(Answer.accepted.body.isEmpty)
  }
}
