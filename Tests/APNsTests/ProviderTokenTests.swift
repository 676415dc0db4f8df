import COpenSSL
import EventLoop
import Foundation
import Telemetry
import Testing

@testable import APNs

@EventLoop
struct ProviderTokenTests {
  private func key() throws -> ProviderKey {
    try ProviderKey(keyID: "ABCDE12345", teamID: "TEAM567890", pem: TestKey.pem)
  }

  private func decode(_ part: Substring) throws -> Data {
    let text = part.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
    return try #require(Data(base64Encoded: text + padding))
  }

  @Test func `header and claims are as Apple documents`() throws {
    let parts = String(decoding: try key().sign(issuedAt: 1_700_000_000), as: UTF8.self).split(separator: ".")
    #expect(parts.count == 3)
    #expect(String(decoding: try decode(parts[0]), as: UTF8.self) == #"{"alg":"ES256","kid":"ABCDE12345"}"#)
    #expect(String(decoding: try decode(parts[1]), as: UTF8.self) == #"{"iss":"TEAM567890","iat":1700000000}"#)
  }

  @Test func `the public key verifies the signature`() throws {
    // Each signature is different, and so are the lengths of r and s.
    for issuedAt: Int64 in 0..<50 {
      let token = String(decoding: try key().sign(issuedAt: issuedAt), as: UTF8.self)
      let parts = token.split(separator: ".")
      let signature = [UInt8](try decode(parts[2]))
      #expect(signature.count == 64)
      #expect(verify(Array("\(parts[0]).\(parts[1])".utf8), signature))
      #expect(!verify(Array("\(parts[0]).\(parts[1])x".utf8), signature))
    }
  }

  @Test func `one token is used until it is due and a refusal renews it once`() throws {
    let token = ProviderToken(key: try key(), log: .silent)
    #expect(token.authorization.isEmpty)
    #expect(token.age == nil)
    #expect(token.prepare(now: 1))
    #expect((0..<60).contains(try #require(token.age)))
    let first = token.authorization
    #expect(first.starts(with: "bearer ".utf8))
    #expect(token.prepare(now: 2))
    #expect(token.authorization == first)
    #expect(token.renew(afterRefusalOf: 1, now: 3))
    #expect(token.authorization != first)
    #expect(token.generation == 2)
    #expect(token.renew(afterRefusalOf: 1, now: 4), "the other pushes of the old token use the new one")
    #expect(token.generation == 2)
    #expect(!token.renew(afterRefusalOf: 2, now: 5))
  }

  @Test func `the older token is used again when APNs reports too many`() throws {
    let token = ProviderToken(key: try key(), log: .silent)
    #expect(token.prepare(now: 1))
    let first = token.authorization
    #expect(!token.fallBack(afterRefusalOf: 1), "there is no older token")
    #expect(token.renew(afterRefusalOf: 1, now: 2))
    #expect(token.fallBack(afterRefusalOf: 2))
    #expect(token.authorization == first)
    #expect(token.fallBack(afterRefusalOf: 2), "the second refused push uses the older token too")
    #expect(token.authorization == first)
  }

  private func verify(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
    let key = TestKey.publicPEM.withCString { text in
      let bio = BIO_new_mem_buf(text, -1)
      defer { BIO_free(bio) }
      return PEM_read_bio_PUBKEY(bio, nil, nil, nil)
    }
    defer { EVP_PKEY_free(key) }
    let pair = ECDSA_SIG_new()
    defer { ECDSA_SIG_free(pair) }
    ECDSA_SIG_set0(pair, BN_bin2bn(Array(signature[..<32]), 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_ECDSA_SIG(pair, &der)
    defer { CRYPTO_free(der, #file, #line) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key)
    return EVP_DigestVerify(context, der, Int(length), message, message.count) == 1
  }
}
