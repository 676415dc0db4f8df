import BackupSupport
import JSON
import Registry
import Testing
import TestSupport
@testable import Backup
@testable import PushModel

struct BackupReaderTests {
  private static let one = "token-one-0123456789abcdef"
  private static let two = "token-two-0123456789abcdef"

  private func read(_ text: String, size: Int = 1 << 20) -> Reading { Reading(BackupReader(), text, size: size) }

  @Test(arguments: [
    #"{"com.a":{"\#(one)":{},"\#(two)":{}}}"#, #"{"com.a":[{"\#(one)":{}},{"\#(two)":{}}]}"#,
    #"{"com.a":[{"\#(one)":{},"\#(two)":{}}]}"#, #"{"com.a":["\#(one)":{},"\#(two)":{}]}"#,
    #"{"com.a":["\#(one)":{},{"\#(two)":{}},{}],"com.b":[],"com.c":{}}"#,
    "\u{FEFF}{\r\n\t\"com.a\" : {\r\n\"\(one)\"\t:{ } ,\r\n \"\(two)\":{}}\r\n}\r\n",
  ])
  func `all notations have the same entries`(text: String) {
    let whole = read(text)
    #expect(whole.fault == nil)
    #expect(whole.names == ["com.a/\(Self.one)", "com.a/\(Self.two)"])
    for size in 1...7 { #expect(read(text, size: size) == whole, "in chunks of \(size)") }
  }

  @Test func `a record has all fields of a device`() {
    let text = """
      {"com.a":{"\(Self.one)":{"createdAt":"2016-01-02T03:04:05.678Z","updatedAt":1451876645678,"username":" Álice ",
      "platform":"android","environment":"sandbox","more":[1]}},"":{"\(Self.two)":{"createdAt":"2016-01-02T03:04:05Z"}}}
      """
    #expect(
      read(text).entries == [
        .device(
          token: DeviceToken(Self.one),
          DeviceMetadata(
            username: "álice", platform: .android, updatedAt: 1_451_876_645_678, bundleID: "com.a",
            environment: .sandbox, createdAt: 1_451_703_845_678)),
        .device(
          token: DeviceToken(Self.two),
          DeviceMetadata(username: "", platform: .ios, updatedAt: 1_451_703_845_000, createdAt: 1_451_703_845_000)),
      ])
  }

  @Test func `tokens of Live Activities are read with what they are for`() {
    let text = """
      {"com.a":{"\(Self.one)":{"updatedAt":1790000000000,"kind":"activity","activity":"order-7","frequentPushes":false},
      "\(Self.two)":{"updatedAt":1790000000000,"kind":"pushtostart","activity":"Delivery.Attributes"}}}
      """
    #expect(
      read(text).entries == [
        .device(
          token: DeviceToken(Self.one),
          DeviceMetadata(
            username: "", platform: .ios, updatedAt: 1_790_000_000_000, bundleID: "com.a", kind: .activity,
            activity: "order-7",
            frequentPushes: false)),
        .device(
          token: DeviceToken(Self.two),
          DeviceMetadata(
            username: "", platform: .ios, updatedAt: 1_790_000_000_000, bundleID: "com.a", kind: .pushtostart,
            activity: "Delivery.Attributes")),
      ])
  }

  @Test func `kind, phone and suspension are read, and development is the sandbox`() {
    let text = """
      {"com.a":{"\(Self.one)":{"updatedAt":1790000000000,"kind":"voip","deviceId":"iphone:1","environment":"development"}},
      "martlet:instances":{"home":{"token":"\(Self.two)","updatedAt":1790000000000,"suspended":true,"environment":"development"}}}
      """
    #expect(
      read(text).entries == [
        .device(
          token: DeviceToken(Self.one),
          DeviceMetadata(
            username: "", platform: .ios, updatedAt: 1_790_000_000_000, bundleID: "com.a", environment: .sandbox,
            kind: .voip,
            deviceID: "iphone:1")),
        .instance(
          id: "home",
          InstanceRecord(
            token: DeviceToken(Self.two), environment: .sandbox, updatedAt: 1_790_000_000_000, isSuspended: true)),
      ])
  }

  @Test func `a date in seconds is read as what it must be`() {
    let text = #"{"com.a":{"\#(Self.one)":{"createdAt":1700000000,"updatedAt":1790000000}}}"#
    guard case .device(_, let metadata)? = read(text).entries.first else {
      Issue.record("it is not read")
      return
    }
    #expect(metadata.createdAt == 1_700_000_000_000)
    #expect(metadata.updatedAt == 1_790_000_000_000)
  }

  @Test func `what is written of an entry is read again`() throws {
    let entries: [BackupEntry] = [
      .device(
        token: DeviceToken(Self.one),
        DeviceMetadata(
          username: "alice", platform: .ios, updatedAt: 9, bundleID: "com.a", environment: .production, createdAt: 7,
          kind: .pushtotalk, deviceID: "phone-1")),
      .device(token: DeviceToken(Self.two), DeviceMetadata(username: "", platform: .ios, updatedAt: 9)),
      .instance(
        id: "home", InstanceRecord(token: DeviceToken(Self.one), environment: nil, updatedAt: 9, isSuspended: true)),
    ]
    for entry in entries {
      let place = try #require(entry.place)
      let file: JSONObject = [place.section: [place.key: place.record] as JSONObject]
      #expect(Reading(BackupReader(), file.bytes).entries == [entry])
    }
  }

  @Test func `instances have their own section, and unknown sections are skipped`() {
    let text = """
      {"martlet:instances":{"home:1":{"token":"\(Self.one)","environment":"production","bundleId":"com.a",
      "updatedAt":"1970-01-01T00:00:00.009Z","active":false},"bad id":{"token":"\(Self.one)"}},"martlet:later":{"x":{"y":1}}}
      """
    #expect(
      read(text).entries == [
        .instance(
          id: "home:1",
          InstanceRecord(
            token: DeviceToken(Self.one), environment: .production, bundleID: "com.a", updatedAt: 9, isActive: false)),
        .refused(.malformedInstance),
      ])
  }

  @Test func `channels have their own section`() {
    let text = """
      {"martlet:channels":{"com.a:match":{"storage":"none","sandbox":"s=="},"match":{"storage":"none"},
      "com.a:b":{"storage":"some"},"com.a:c":{"storage":"newest","production":"a b"}}}
      """
    let entries = read(text).entries
    #expect(
      entries.first == .channel(Channel("match", of: "com.a", storage: .none, ids: [.sandbox: "s=="])))
    #expect(
      entries.dropFirst() == [.refused(.malformedChannel), .refused(.malformedChannel), .refused(.malformedChannel)])
    #expect(entries.first?.place?.key == "com.a:match")
  }

  @Test(arguments: [
    (#""short":{}"#, "malformed_token"), (#""\#(one)/..":{}"#, "malformed_token"),
    (#""\#(one)":{"username":7}"#, "malformed_record"), (#""\#(one)":{"username":"a\u0000b"}"#, "malformed_username"),
    (#""\#(one)":{"updatedAt":"yesterday"}"#, "malformed_date"), (#""\#(one)":{"createdAt":1.5}"#, "malformed_date"),
    (#""\#(one)":{"platform":"vax"}"#, "malformed_record"), (#""\#(one)":{"environment":""}"#, "malformed_record"),
    (#""\#(one)":{"username":"a","username":"b"}"#, "malformed_record"),
    (#""\#(one)":{"kind":"telex"}"#, "malformed_record"), (#""\#(one)":{"kind":["voip"]}"#, "malformed_record"),
    (#""\#(one)":{"deviceId":7}"#, "malformed_record"), (#""\#(one)":{"deviceId":""}"#, "malformed_record"),
    (#""\#(one)":{"deviceId":"a b"}"#, "malformed_record"), (#""\#(one)":{"deviceId":"é"}"#, "malformed_record"),
    (#""\#(one)":{"deviceId":"\#(String(repeating: "a", count: 129))"}"#, "malformed_record"),
    (#""\#(one)":{"updatedAt":1e999}"#, "malformed_record"),
    (#""\#(one)":{"kind":"activity"}"#, "malformed_record"),
    (#""\#(one)":{"kind":"activity","activity":"x:tokens"}"#, "malformed_record"),
    (#""\#(one)":{"kind":"pushtostart","activity":"A<B>"}"#, "malformed_record"),
    (#""\#(one)":{"kind":"activity","activity":7}"#, "malformed_record"),
    (#""\#(one)":{"frequentPushes":"yes"}"#, "malformed_record"),
    (#""\#(one)":{"of a later version":[{"a":-1e999}]}"#, "malformed_record"),
  ])
  func `an invalid entry is left out and the next one is read`(entry: String, reason: String) {
    let reading = read(#"{"com.a":{\#(entry),"\#(Self.two)":{}}}"#)
    #expect(reading.names == [reason, "com.a/\(Self.two)"])
    #expect(reading.fault == nil)
  }

  @Test func `an instance with a number out of range is left out, a section of a later version is skipped`() {
    let record = #"{"x":1e999}"#
    let reading = read(#"{"martlet:later":{"a":\#(record)},"martlet:instances":{"i":\#(record)}}"#)
    #expect(reading.names == ["malformed_record"])
    #expect(reading.fault == nil)
  }

  @Test func `an entry of an invalid app is left out`() {
    #expect(read(#"{"../x y":{"\#(Self.one)":{}}}"#).names == ["malformed_app"])
  }

  @Test func `a token in the old description format is read`() {
    #expect(read(#"{"com.a":{"<0a1b2c3d 4e5f6071 82930a1b>":{}}}"#).names == ["com.a/0a1b2c3d4e5f607182930a1b"])
  }

  @Test(arguments: [
    ("", "line 1, byte 0: the text ends here; expected { at the start of a backup file"),
    ("[]", "line 1, byte 0: expected { at the start of a backup file, found '['"),
    ("{}\n{}", "line 2, byte 3: expected nothing after the last }, found '{'"),
    ("{\n\"com.a\":7}", "line 2, byte 10: expected { or [ after the bundle id, found '7'"),
    (#"{"com.a":{"t":[]}}"#, "line 1, byte 14: expected the record of a token, found '['"),
    (#"{"com.a":{"t":{}"#, "line 1, byte 16: the text ends here; expected a comma or }"),
    (#"{"com.a":{"t":{}]"#, "line 1, byte 16: expected a comma or }, found ']'"),
    (#"{"com.a":["t":{}}"#, "line 1, byte 16: expected a comma or ], found '}'"),
    (#"{"com.a":{"t":{},}}"#, "line 1, byte 17: expected a token in quotes, found '}'"),
    (#"{"com.a":{},}"#, "line 1, byte 12: expected the bundle id of an app, in quotes, found '}'"),
    (#"{"com.a":["t"]}"#, "line 1, byte 13: expected a colon, found ']'"),
    (#"{"com.a":{"t":{"a":1"#, "line 1, byte 14: the record of a token begins here and has no end"),
    (
      #"{"com.a":{"t":{"a":1,"a":}}}"#,
      #"line 1, byte 14: in the record of a token that begins here: unexpected character '}' at byte 11, counted from there"#
    ),
    (
      #"{"com.a":{"t":{"a":nope}}}"#,
      "line 1, byte 14: in the record of a token that begins here: unexpected character 'o' at byte 6, counted from there"
    ),
    (
      #"{"\ud800":{}}"#,
      "line 1, byte 1: the bundle id of an app, in quotes: half of a surrogate pair in a string, at byte 1"
    ),
  ])
  func `the fault of an invalid file has its position`(text: String, fault: String) {
    for size in [1, 3, 1 << 20] { #expect(read(text, size: size).fault == fault) }
  }

  @Test func `the entries before a fault are returned`() {
    let reading = read(#"{"com.a":{"\#(Self.one)":{},"\#(Self.two)":{"#)
    #expect(reading.names == ["com.a/\(Self.one)"])
    #expect(reading.fault != nil)
  }

  @Test func `a giant string, a giant record and deep nesting are faults`() {
    let giant = String(repeating: "x", count: 100_000)
    #expect(read("{\"\(giant)\":{}}", size: 1000).fault?.contains("longer than 2048 bytes") == true)
    #expect(
      read("{\"com.a\":{\"t\":{\"a\":\"\(giant)\"}}}", size: 1000).fault?.contains("longer than 16384 bytes") == true)
    let deep = String(repeating: "{\"a\":", count: 500) + "1" + String(repeating: "}", count: 500)
    #expect(read("{\"com.a\":{\"t\":\(deep)}}").fault?.contains("nested deeper than 64 levels") == true)
  }

  @Test func `no file traps the reader, and chunks of any size give the same entries`() {
    let seed = Array(#"{"com.a":{"\#(Self.one)":{"username":"a"}},"com.b":["\#(Self.two)":{"updatedAt":1}]}"#.utf8)
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      var text = seed
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let index = Int.random(in: 0..<text.count, using: &generator)
        text[index] = Array("{}[]\",:\\ 1\u{0}".utf8).randomElement(using: &generator) ?? 0xFF
      }
      let size = Int.random(in: 1...20, using: &generator)
      #expect(Reading(BackupReader(), text, size: size) == Reading(BackupReader(), text))
    }
  }
}
