import JSON
import PushModel
import Registry
import SidecarSupport
import Testing

@testable import Sidecar

/// The bodies of docs/http/push-api.md.
struct PushRequestTests {
  private static let token = String(repeating: "a", count: 20)

  @Test(arguments: [
    (#"{"token":"\#(token)"}"#, Platform.ios), (#"{"token":" \#(token)\n","platform":" iOS "}"#, .ios),
    (#"{"token":"\#(token)","platform":"ANDROID","more":[1,{}]}"#, .android),
  ])
  func `a registration has a token and a platform`(body: String, platform: Platform) throws {
    let request = try RegisterRequest(Array(body.utf8))
    #expect(request.token.text == Self.token)
    #expect(request.platform == platform)
  }

  private static let registerFaults: [(String, String)] = [
    ("", "Push token is required"), ("{}", "Push token is required"),
    (#"{"token":""}"#, "Push token is required"), (#"{"token":"  \t"}"#, "Push token is required"),
    (#"{"token":null}"#, "Push token is required"), (#"{"token":7}"#, "Invalid push token format"),
    (#"{"token":["\#(token)"]}"#, "Invalid push token format"),
    (#"{"token":"\#(token.dropLast())"}"#, "Invalid push token format"),
    (#"{"token":"\#(String(repeating: "a", count: 513))"}"#, "Invalid push token format"),
    (#"{"token":"\#(token) \#(token)"}"#, "Invalid push token format"),
    (#"{"token":"\#(token)/.."}"#, "Invalid push token format"),
    (#"{"token":"\#(token)\u0000"}"#, "Invalid push token format"),
    (#"{"token":"\#(token)é"}"#, "Invalid push token format"),
    (#"{"token":"\#(token)","platform":"web"}"#, "Unsupported push platform"),
    (#"{"token":"\#(token)","platform":""}"#, "Unsupported push platform"),
    (#"{"token":"\#(token)","platform":1}"#, "Unsupported push platform"),
    ("null", "Request body must be a JSON object"), ("[]", "Request body must be a JSON object"),
    (#""text""#, "Request body must be a JSON object"), ("{", "Request body must be a JSON object"),
    (" ", "Request body must be a JSON object"), ("{} x", "Request body must be a JSON object"),
    (#"{"token":"\#(token)","token":"\#(token)"}"#, "Request body must be a JSON object"),
    (#"{"token":"\#(token)","x":"\ud800"}"#, "Request body must be a JSON object"),
    ("{\"token\":\"\(token)\",\"x\":\"\u{1}\"}", "Request body must be a JSON object"),
    (String(repeating: #"{"a":"#, count: 2000), "Request body must be a JSON object"),
  ]

  @Test(arguments: registerFaults)
  func `an invalid registration is refused with the text of the document`(body: String, text: String) {
    refuses(text) { try RegisterRequest(Array(body.utf8)) }
  }

  @Test(arguments: [20, 512])
  func `tokens of every allowed length and character are accepted`(length: Int) throws {
    let token = String(repeating: "aZ09:_-.", count: 64).prefix(length)
    #expect(try RegisterRequest(Array(#"{"token":"\#(token)"}"#.utf8)).token.text == token)
  }

  @Test(arguments: [
    (#"{"token":""}"#, "Invalid push token format"), (#"{"token":" "}"#, "Invalid push token format"),
    (#"{"token":"short"}"#, "Invalid push token format"),
    ("null", "Request body must be a JSON object"),
  ])
  func `a token must be well-formed`(body: String, text: String) {
    refuses(text) { try PushBody(Array(body.utf8)).tokens() }
    refuses(text) { try TestRequest(Array(body.utf8)) }
  }

  @Test func `null is the same as leaving the field out`() throws {
    let nulls = #""platform":null,"bundleId":null,"environment":null,"kind":null,"deviceId":null"#
    let request = try RegisterRequest(Array(#"{"token":"\#(Self.token)",\#(nulls)}"#.utf8))
    #expect(try request == RegisterRequest(Array(#"{"token":"\#(Self.token)"}"#.utf8)))
    let test = #"{"title":null,"body":null,"token":null,"badge":null,"sound":null,"data":null}"#
    #expect(try TestRequest(Array(test.utf8)) == TestRequest([]))
  }

  @Test(arguments: ["null", "undefined", "None", "[object Object]", "", " NULL"])
  func `a phone id that programs write for no value is the same as leaving it out`(text: String) throws {
    let body = #"{"token":"\#(Self.token)","deviceId":"\#(text)"}"#
    #expect(try RegisterRequest(Array(body.utf8)) == RegisterRequest(Array(#"{"token":"\#(Self.token)"}"#.utf8)))
  }

  @Test func `a device of iOS is registered under its token of APNs, one of android as it came`() throws {
    let hex = String(repeating: "0a1b2c3d4e5f6789", count: 4)
    for text in ["0x" + hex, hex.uppercased(), "ChssPU5fZ4kKGyw9Tl9niQobLD1OX2eJChssPU5fZ4k"] {
      #expect(try RegisterRequest(Array(#"{"token":"\#(text)"}"#.utf8)).token.text == hex, "\(text)")
      let android = try RegisterRequest(Array(#"{"token":"\#(text)","platform":"android"}"#.utf8))
      #expect(android.token.text == text)
    }
  }

  @Test(arguments: ["", "{}", #"{"other":1}"#, #"{"token":null}"#])
  func `no token means all devices`(body: String) throws {
    #expect(try PushBody(Array(body.utf8)).tokens().isEmpty)
    #expect(try TestRequest(Array(body.utf8)).tokens.isEmpty)
  }

  private static let emoji = String(repeating: "🎉", count: 60)

  private static let testFaults: [(String, String)] = [
    (#"{"title":1}"#, "Title must be a string"),
    (#"{"body":{}}"#, "Body must be a string"), (#"{"sound":false}"#, "Sound must be a string"),
    (#"{"title":1,"body":1,"token":1,"sound":1}"#, "Title must be a string"),
    (#"{"token":1,"sound":1}"#, "Invalid push token format"),
    (
      #"{"title":"\#(String(repeating: "é", count: 121))"}"#,
      "Notification title is too long (max 120 characters)"
    ),
    (#"{"title":"\#(emoji)x"}"#, "Notification title is too long (max 120 characters)"),
    (
      #"{"body":"\#(String(repeating: "x", count: 513))"}"#, "Notification body is too long (max 512 characters)"
    ),
    (#"{"badge":"1"}"#, "Badge must be an integer"),
    (#"{"badge":1.5}"#, "Badge must be an integer"), (#"{"badge":true}"#, "Badge must be an integer"),
    (#"{"badge":-1}"#, "Badge must be between 0 and 9999"), (#"{"badge":10000}"#, "Badge must be between 0 and 9999"),
    (#"{"badge":1e300}"#, "Badge must be between 0 and 9999"),
    (#"{"badge":99999999999999999999}"#, "Badge must be between 0 and 9999"),
    (#"{"sound":"\#(String(repeating: "s", count: 65))"}"#, "Sound value is too long (max 64 characters)"),
    (#"{"data":[]}"#, "Data payload must be a JSON object"),
    (#"{"data":"{}"}"#, "Data payload must be a JSON object"),
    (
      #"{"data":{"x":"\#(String(repeating: "x", count: 2041))"}}"#, "Data payload is too large (max 2048 bytes)"
    ),
    (
      #"{"data":{"x":"\#(String(repeating: "é", count: 1021))"}}"#, "Data payload is too large (max 2048 bytes)"
    ),
  ]

  @Test(arguments: testFaults)
  func `an invalid test push is refused with the text of the document`(body: String, text: String) {
    refuses(text) { try TestRequest(Array(body.utf8)) }
  }

  @Test(arguments: [
    #"{"title":"\#(emoji)","body":"\#(String(repeating: "x", count: 512))"}"#,
    #"{"sound":"\#(String(repeating: "s", count: 64))","badge":9999}"#, #"{"badge":0,"data":{}}"#,
    #"{"title":"  \#(emoji)  "}"#, #"{"data" : { "x" : "\#(String(repeating: "x", count: 2040))" } }"#,
    #"{"data":{"a":\#(String(repeating: "[", count: 60))\#(String(repeating: "]", count: 60))}}"#,
  ])
  func `values at the limits are accepted`(body: String) throws {
    _ = try TestRequest(Array(body.utf8))
  }

  private static let payloads: [(String, String)] = [
    (
      "{}",
      #"{"aps":{"alert":{"title":"ryOS test notification","body":"Push notifications are working 🎉"},"sound":"default"}}"#
    ),
    (
      #"{"title":" ","body":"\t","sound":" "}"#,
      #"{"aps":{"alert":{"title":"ryOS test notification","body":"Push notifications are working 🎉"},"sound":"default"}}"#
    ),
    (
      #"{"title":" T ","body":"B\n","badge":3.0,"sound":"ping.caf","data":{"source":"manual-test","n":[1,null]}}"#,
      #"{"aps":{"alert":{"title":"T","body":"B"},"badge":3,"sound":"ping.caf"},"data":{"source":"manual-test","n":[1,null]}}"#
    ),
    (
      #"{"title":"a\"b\\c\u0000","body":"B","data":{}}"#,
      #"{"aps":{"alert":{"title":"a\"b\\c\u0000","body":"B"},"sound":"default"},"data":{}}"#
    ),
  ]

  @Test(arguments: payloads)
  func `the payload is that of the document with its defaults`(body: String, payload: String) throws {
    #expect(String(decoding: try TestRequest(Array(body.utf8)).payload, as: UTF8.self) == payload)
  }
}
