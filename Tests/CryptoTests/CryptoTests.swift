import Crypto
import Testing

struct CryptoTests {
  @Test func `digests are those of the standard's examples`() {
    #expect(SHA256.hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(SHA256.hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(SHA1.hex(Array("abc".utf8)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
  }

  @Test func `base64url decodes to what was encoded`() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test(arguments: ["A", "AB", "AAB", "A=", "AA==", "A A", "+AAA", "AA\n"])
  func `malformed base64url is refused`(text: String) {
    #expect(Base64URL.decode(text.utf8) == nil)
  }

  @Test(arguments: ["QQ==", "QQ", "QUI=", "QUI", "QUJD", "+/+/", ""])
  func `base64 may lack its padding`(text: String) throws {
    let bytes = try #require(Base64.decode(text.utf8))
    let encoded = Base64.encode(bytes)
    #expect(encoded.prefix(text.count) == text && encoded.dropFirst(text.count).allSatisfy { $0 == "=" })
  }

  @Test(arguments: ["Q", "QQ=", "Q===", "====", "QR==", "QQ==QQ==", " QUI=", "QUI=\n", "QUI-", "-_-_", "QUJ", "QU==I"])
  func `malformed base64 is refused`(text: String) { #expect(Base64.decode(text.utf8) == nil) }

  @Test func `secrets differ, and equality compares every byte`() {
    #expect(Secret.random() != Secret.random())
    #expect(Secret.random().utf8.count == 43)
    #expect(Secret.areEqual([1, 2, 3], [1, 2, 3]))
    #expect(!Secret.areEqual([1, 2, 3], [1, 2, 4]))
    #expect(!Secret.areEqual([1, 2], [1, 2, 3]))
    #expect(Secret.areEqual([], []))
  }
}
