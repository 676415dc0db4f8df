import BackupSupport
import JSON
import PushModel
import Registry
import Testing
@testable import Backup

struct InstallationReaderTests {
  private static let token = String(repeating: "0a", count: 32)
  private static let other = String(repeating: "0b", count: 32)
  private static let one = installation(token)
  private static let two = installation(other)

  private static func installation(
    _ token: String, app: String = "com.a", type: String = "ios", more: String = ""
  ) -> String {
    #"{"objectId":"x","appIdentifier":"\#(app)","deviceType":"\#(type)","deviceToken":"\#(token)"\#(more)}"#
  }

  private func read(_ text: String, size: Int = 1 << 20) -> Reading {
    Reading(ObjectListReader(.parse(of: ["com.a", "com.b"])), text, size: size)
  }

  @Test(arguments: [
    "[\(one),\(two)]", "{\"results\":[\(one),\(two)]}", " { \"results\" :\n[ \(one) ,\r\n\(two) ] } \n",
    "\(one)\n\(two)\n", "\(one)\r\n\r\n\(two)",
  ])
  func `all forms of an export have the same entries`(text: String) {
    let whole = read(text)
    #expect(whole.names == ["com.a/\(Self.token)", "com.a/\(Self.other)"])
    #expect(whole.fault == nil)
    for size in 1...9 { #expect(read(text, size: size) == whole, "in chunks of \(size)") }
  }

  @Test(arguments: ["[]", "{\"results\":[]}", "{\"results\": [ ]}\n"])
  func `an export may be empty`(text: String) {
    #expect(read(text).entries.isEmpty)
    #expect(read(text).fault == nil)
  }

  @Test func `dates are read in both of Parse's notations`() {
    let more =
      #","createdAt":"2016-01-02T03:04:05.678Z","updatedAt":{"__type":"Date","iso":"2016-01-02T03:04:06.678Z"}"#
    #expect(
      read("[\(Self.installation(Self.token, app: "com.b", more: more))]").entries == [
        .device(
          token: DeviceToken(Self.token),
          DeviceMetadata(
            username: "", platform: .ios, updatedAt: 1_451_703_846_678, bundleID: "com.b",
            createdAt: 1_451_703_845_678))
      ])
  }

  @Test(arguments: [
    (installation(token, app: "com.c"), "other_app"), (installation(token, type: "android"), "other_platform"),
    (installation(""), "no_token"), (installation("short"), "malformed_token"), ("{}", "other_app"),
    (#"{"appIdentifier":"com.a","deviceType":"ios"}"#, "no_token"),
    (#"{"appIdentifier":"com.a","deviceType":"ios","deviceToken":null}"#, "no_token"),
    (installation(token, more: #","createdAt":[]"#), "malformed_date"),
    (installation(token, more: #","badge":1e999"#), "malformed_record"),
    (installation(token, more: #","badge":1,"badge":1"#), "malformed_record"),
  ])
  func `a refused installation has a reason`(installation: String, reason: String) {
    #expect(read("[\(installation),\(Self.two)]").names == [reason, "com.a/\(Self.other)"])
  }

  @Test(arguments: [
    (
      "",
      "line 1, byte 0: the text ends here; expected an export of _Installation: [, {\"results\":[, or an object per line"
    ),
    ("7", "line 1, byte 0: expected an export of _Installation: [, {\"results\":[, or an object per line, found '7'"),
    ("[{},", "line 1, byte 4: the text ends here; expected an installation: {"),
    ("[{} {}]", "line 1, byte 4: expected a comma or ], found '{'"),
    ("[7]", "line 1, byte 1: expected an installation, found '7'"),
    ("{\"results\":[]", "line 1, byte 13: the text ends here; expected }"),
    ("[]x", "line 1, byte 2: expected nothing after the last installation, found 'x'"),
    ("{}\nx", "line 2, byte 3: expected an installation, found 'x'"),
    ("[{\"a\":1,]", "line 1, byte 1: an installation begins here and has no end"),
  ])
  func `the fault of an invalid export has its position`(text: String, fault: String) {
    for size in [1, 3, 1 << 20] { #expect(read(text, size: size).fault == fault) }
  }

  @Test func `white space without an end is refused before it fills the memory`() throws {
    var text = BackupText(ObjectListReader(.parse(of: ["com.a"])))
    text.window.append([UInt8(ascii: "{")])
    var (fed, fault) = (1, nil as JSONWindow.Fault?)
    while fault == nil, fed < 4 << 20 {
      text.window.append([UInt8](repeating: 0x20, count: 65_536))
      fed += 65_536
      do throws(JSONWindow.Fault) { _ = try text.next() } catch { fault = error }
    }
    #expect(fault?.description == "line 1, byte 0: an installation is longer than 262144 bytes")
    #expect(fed <= 5 * 65_536 + 1)
  }
}
