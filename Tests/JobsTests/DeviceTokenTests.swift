import Crypto
import TestSupport
import Testing

@testable import Jobs
@testable import PushModel

/// The one form of a device token.
struct DeviceTokenTests {
  private static let lower = String(repeating: "0a1b2c3d4e5f6789", count: 4)
  private static let upper = lower.uppercased()

  @Test func `a token of 64 or more hexadecimal digits is in lower case, whichever case came in`() {
    let mixed = "0A1b" + Self.lower.dropFirst(4)
    for text in [Self.lower, Self.upper, mixed] { #expect(DeviceToken(text).text == Self.lower) }
    #expect(Set([DeviceToken(Self.lower), DeviceToken(Self.upper), DeviceToken(mixed)]).count == 1)
    let longer = Self.upper + "FF"
    #expect(DeviceToken(longer).text == longer.lowercased())
  }

  @Test(arguments: [
    String(upper.dropLast()), "fcm:" + upper, upper + "-X", "c2Vy:APA91bH" + upper, "", "A",
  ])
  func `every other text stays as it came`(text: String) {
    #expect(DeviceToken(text).text == text)
    #expect(DeviceToken.isOwnForm(Array(text.utf8)))
  }

  @Test func `the token of an android device stays as it came`() {
    #expect(DeviceToken(verbatim: Self.upper).text == Self.upper)
    #expect(DeviceToken(verbatim: Self.upper) != DeviceToken(Self.upper))
  }

  @Test func `an entry is the token's own form unless it has an upper-case digit`() {
    #expect(DeviceToken.isOwnForm(Array(Self.lower.utf8)))
    #expect(!DeviceToken.isOwnForm(Array(Self.upper.utf8)))
    for place in 0..<64 where Self.lower.utf8[Self.lower.utf8.index(Self.lower.startIndex, offsetBy: place)] >= 0x61 {
      var entry = Array(Self.lower.utf8)
      entry[place] -= 0x20
      #expect(!DeviceToken.isOwnForm(entry))
      #expect(DeviceToken(String(decoding: entry, as: UTF8.self)).text == Self.lower)
    }
  }

  @Test func `only a token of APNs with letters has an upper-case form`() {
    #expect(DeviceToken(Self.lower).upperCased == Self.upper)
    #expect(DeviceToken(String(repeating: "1", count: 64)).upperCased == nil)
    #expect(DeviceToken("token-of-android-0123456789").upperCased == nil)
    #expect(DeviceToken(verbatim: Self.upper).upperCased == nil)
  }

  @Test func `a token is well-formed in either case, up to 512 characters`() {
    for count in [63, 64, 512] { #expect(DeviceToken.isWellFormed(String(repeating: "aF", count: count / 2))) }
    #expect(!DeviceToken.isWellFormed(String(repeating: "a", count: 513)))
    #expect(!DeviceToken.isWellFormed(String(repeating: "a", count: 19)))
    #expect(!DeviceToken.isWellFormed(Self.lower + " "))
    #expect(!DeviceToken.isWellFormed(Self.lower + "\0"))
  }

  @Test func `a job names a device in any form that programs write, and one that is no token harms no other`() throws {
    let base64 = "ChsshV5vZ4kKGyyFXm9niQobLIVeb2eJChsshV5vZ4k="
    let hex = "0a1b2c855e6f67890a1b2c855e6f67890a1b2c855e6f67890a1b2c855e6f6789"
    let texts = [
      hex, "0x" + hex, "<0a1b2c85 " + hex.dropFirst(8) + ">", base64, String(base64.dropLast()), "\\\\x" + hex,
      "c2Vy:APA91bH0123456789", "token-of-android-0123456789", String(hex.dropLast()),
    ]
    let job = try Job(parsing: Array(#"{"to":{"tokens":["\#(texts.joined(separator: #"",""#))"]},"title":"t"}"#.utf8))
    #expect(job.addressee == .tokens((Array(repeating: hex, count: 6) + texts.suffix(3)).map { DeviceToken($0) }))
    for (text, fault) in [
      ("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", TokenFault.expo), ("a+b/0123456789012345678", .text),
    ] {
      #expect(throws: JobError(reason: "to.token: \(fault.rawValue)")) {
        try Job(parsing: Array(#"{"to":{"token":"\#(text)"},"title":"t"}"#.utf8))
      }
    }
  }

  /// The forms in which programs write these bytes.
  private func spellings(_ bytes: [UInt8]) -> [String] {
    let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let groups = stride(from: 0, to: hex.count, by: 8).map { hex.dropFirst($0).prefix(8) }.joined(separator: " ")
    let (base64, url) = (Base64.encode(bytes), String(decoding: Base64URL.encode(bytes), as: UTF8.self))
    let lines = stride(from: 0, to: base64.count, by: 76).map { base64.dropFirst($0).prefix(76) }
    return [
      hex, hex.uppercased(), "0x" + hex, "0X" + hex.uppercased(), "\\x" + hex, "<\(groups)>", base64, url,
      String(base64.prefix { $0 != "=" }), lines.joined(separator: "\r\n"),
    ]
  }

  @Test func `every token of APNs is read in every form`() throws {
    var generator = SeededGenerator(seed: 52)
    // Of these, base64 begins with 0x and 0X.
    let likePrefixes: [[UInt8]] = [[0xD3, 0x1A], [0xD3, 0x1F], [0xD1, 0x70], [0xD1, 0x7F]]
    for number in 0..<4000 {
      var bytes = (0..<32 + generator.below(number < 3000 ? 1 : 225)).map { _ in UInt8(generator.below(256)) }
      if number < 40 { bytes.replaceSubrange(0..<2, with: likePrefixes[number % 4]) }
      let hex = spellings(bytes)[0]
      for text in spellings(bytes) { #expect(try DeviceToken(apns: text).text == hex, "\(text)") }
    }
  }

  @Test(arguments: [
    ("0x" + upper.dropLast(2), TokenFault.digits), ("0X" + upper.dropLast(), .digits),
    ("0x" + lower.dropLast(2), .digits), (String(upper.dropLast(2)), .digits), ("0x", .digits),
    ("simulatortokenofapnswithlettersofonecaseonly", .text), ("", .digits),
  ])
  func `digits that are too few, and words, are no base64`(text: String, fault: TokenFault) {
    #expect(throws: fault) { try DeviceToken(apns: text) }
  }

  @Test func `a job names a device in one form`() throws {
    let named = try Job(parsing: Array(#"{"to":{"token":"\#(Self.upper)"},"title":"t"}"#.utf8))
    #expect(named.addressee == .token(DeviceToken(Self.lower)))
    let list = try Job(parsing: Array(#"{"to":{"tokens":["\#(Self.upper)","\#(Self.lower)"]},"title":"t"}"#.utf8))
    #expect(list.addressee == .tokens([DeviceToken(Self.lower), DeviceToken(Self.lower)]))
  }

  @Test func `what a worker of before has left open is found again`() {
    let state = AttemptState(json: Array(#"{"open":["\#(Self.upper)"],"uncertain":["\#(Self.upper)"]}"#.utf8))
    #expect(state.open == [DeviceToken(Self.lower)])
    #expect(state.uncertain == [DeviceToken(Self.lower)])
  }
}
