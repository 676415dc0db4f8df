import BackupSupport
import JSON
import PushModel
import Registry
import Testing
@testable import Backup
@testable import Imports

struct CSVReaderTests {
  private static let one = String(repeating: "0a", count: 32)
  private static let two = String(repeating: "0b", count: 32)
  private static let three = String(repeating: "0c", count: 32)

  private func read(_ text: String, size: Int = 1 << 20) -> Reading { read(Array(text.utf8), size: size) }

  private func read(_ bytes: [UInt8], size: Int = 1 << 20) -> Reading {
    Reading(CSVReader(.devices(app: "com.a")), bytes, size: size)
  }

  private func users(_ reading: Reading) -> [String] {
    reading.entries.map { entry in
      switch entry {
      case .device(_, let metadata): metadata.username.text
      case .instance, .channel: "instance"
      case .refused(let reason): reason.rawValue
      }
    }
  }

  @Test(arguments: [
    "token,user\n\(one),alice\n\(two),bob\n", "\u{FEFF}token,user\r\n\(one),alice\r\n\(two),bob",
    "\"token\",\"user\"\r\n\"\(one)\",\"alice\"\r\n\r\n\n\"\(two)\",bob\n\n", "user,token\nalice,\(one)\nbob,\(two)",
    "token,user,environment\n\(one),\"alice\",\n\(two),bob,\"\"\n",
  ])
  func `all spellings of a file have the same devices`(text: String) {
    let whole = read(text)
    #expect(whole.names == ["com.a/\(Self.one)", "com.a/\(Self.two)"])
    #expect(users(whole) == ["alice", "bob"])
    #expect(whole.fault == nil)
    for size in 1...9 { #expect(read(text, size: size) == whole, "in chunks of \(size)") }
  }

  @Test func `every column is read`() {
    let text =
      "token,user,bundleId,environment,kind,deviceId,platform,createdAt,updatedAt\n"
      + "\(Self.one), Alice ,com.b,development,voip,phone-1,iOS,1451703845678,2016-01-02T03:04:06.678Z\n"
    #expect(
      read(text).entries == [
        .device(
          token: DeviceToken(Self.one),
          DeviceMetadata(
            username: "alice", platform: .ios, updatedAt: 1_451_703_846_678, bundleID: "com.b", environment: .sandbox,
            createdAt: 1_451_703_845_678, kind: .voip, deviceID: "phone-1"))
      ])
  }

  @Test func `a device without a date is older than every registration`() {
    guard case .device(_, let metadata) = read("token\n\(Self.one)\n").entries.first else {
      Issue.record("no device")
      return
    }
    #expect(metadata.updatedAt == 0)
    #expect(metadata.environment == nil)
    #expect(metadata.username.isEmpty)
  }

  @Test func `a line end, a comma and quotes may stand between quotes`() {
    let text = "token,user\n\(Self.one),\"a,\"\"b\"\"\"\n\(Self.two),\"a\nb\"\n\(Self.three),c\n"
    // A line end is no part of a name.
    #expect(users(read(text)) == ["a,\"b\"", "malformed_username", "c"])
  }

  @Test func `a hexadecimal token is read in lower case`() {
    #expect(read("token\n\(Self.one.uppercased())\n").names == ["com.a/\(Self.one)"])
    #expect(read("token\nGHIJKLMNOPQRSTUVWXYZ\n").names == ["malformed_token"])
  }

  @Test(arguments: [
    ("short,alice,", "malformed_token"), (",alice,", "no_token"), ("\(one)/..,alice,", "malformed_token"),
    ("\(one),alice", "malformed_record"), ("\(one),alice,,", "malformed_record"),
    ("\(one),alice,staging", "malformed_record"), ("\(one),a\"lice,", "malformed_record"),
    ("\"\(one)\"x,alice,", "malformed_record"), ("\(one),a\u{0}b,", "malformed_username"),
    ("\(one),\"\"alice\"\",", "malformed_record"), ("\u{0}", "malformed_record"),
  ])
  func `a refused row has a reason, and the next row is read`(row: String, reason: String) {
    let text = "token,user,environment\n\(row)\n\(Self.two),bob,\n"
    for size in [1, 7, 1 << 20] {
      #expect(read(text, size: size).names == [reason, "com.a/\(Self.two)"], "\(row)")
    }
  }

  @Test(arguments: [
    ("kind", "pager", "malformed_record"), ("deviceId", "a b", "malformed_record"),
    ("createdAt", "yesterday", "malformed_date"), ("updatedAt", "99999999999999999999", "malformed_date"),
    ("bundleId", "com.a:b", "malformed_app"), ("platform", "android", "other_platform"),
    ("platform", "web", "other_platform"),
  ])
  func `a value that is not one of its column is refused`(column: String, value: String, reason: String) {
    #expect(read("token,\(column)\n\(Self.one),\(value)\n").names == [reason])
  }

  @Test func `bytes that are not UTF-8 refuse their row`() {
    let bytes = Array("token,user\n\(Self.one),".utf8) + [0xC3, 0x28] + Array("\n\(Self.two),bob\n".utf8)
    #expect(read(bytes).names == ["malformed_record", "com.a/\(Self.two)"])
  }

  @Test(arguments: [
    ("", "line 1, byte 0: the text ends here; expected a row with the names of the columns"),
    ("\n\n", "line 3, byte 2: the text ends here; expected a row with the names of the columns"),
    (
      "\(one),alice\n",
      "line 1, byte 0: the first row has no column 'token', or its columns are not separated by commas"
    ),
    (
      "token;user\n",
      "line 1, byte 0: the first row has no column 'token', or its columns are not separated by commas"
    ),
    (
      "token,enviroment\n",
      "line 1, byte 0: unknown column 'enviroment'; expected some of token, user, bundleId, environment, kind, deviceId, "
        + "platform, createdAt, updatedAt"
    ),
    ("token,user,user\n", "line 1, byte 0: there are two columns 'user'"),
    ("token,user\n\(one),\"alice\n\(two),bob\n", "line 2, byte 11: a row begins here and has no end"),
  ])
  func `the fault of a file has its position`(text: String, fault: String) {
    for size in [1, 3, 1 << 20] { #expect(read(text, size: size).fault == fault) }
  }

  @Test func `a compressed file is refused at its first row`() {
    #expect(
      read([0x1F, 0x8B, 0x08, 0x00, 0xFF]).fault
        == "line 1, byte 0: the names of the columns are not CSV in UTF-8")
  }

  @Test func `a row without an end is refused before it fills the memory`() throws {
    var text = BackupText(CSVReader(.devices(app: nil)))
    text.window.append(Array("token\n".utf8))
    var (fed, fault) = (0, nil as JSONWindow.Fault?)
    while fault == nil, fed < 4 << 20 {
      text.window.append([UInt8](repeating: 0x61, count: 65_536))
      fed += 65_536
      do throws(JSONWindow.Fault) { _ = try text.next() } catch { fault = error }
    }
    #expect(fault?.description == "line 2, byte 6: a row is longer than 65536 bytes")
    #expect(fed <= 2 * 65_536)
  }

  @Test func `the line of a row is known, also behind rows of several lines`() throws {
    var text = BackupText(CSVReader(.devices(app: nil)))
    text.window.append(Array("token,user\r\n\n\(Self.one),\"a\nb\"\n\(Self.two),b\n".utf8))
    text.window.close()
    var lines: [Int] = []
    while try text.next() != nil { lines.append(text.line) }
    #expect(lines == [3, 5])
  }
}
