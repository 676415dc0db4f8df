import COpenSSL
import Crypto
import Foundation
import Testing

@testable import APNs

/// RFC 6979, appendix A.2.5: P-256 with SHA-256.
struct DeterministicSignatureTests {
  private static let scalar = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721"
  /// The order of the group.
  private static let order = "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"

  /// The key of the RFC as a .p8 file.
  private static var pem: String {
    let head = "304102010030130607" + "2A8648CE3D0201" + "06082A8648CE3D030107" + "0427302502010104" + "20"
    let text = Data(bytes(head + scalar)).base64EncodedString(options: .lineLength64Characters)
    return "-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n"
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.utf8.count, by: 2).compactMap { place in
      UInt8(hex.dropFirst(place).prefix(2), radix: 16)
    }
  }

  @Test(arguments: [
    ("sample", "A6E3C57DD01ABE90086538398355DD4C3B17AA873382B0F24D6129493D8AAD60"),
    ("test", "D16B6AE827F17175E040871A1C7EC3500192C4C92677336EC2537ACAEE0008E0"),
  ]) func `the nonces are those of the RFC`(message: String, nonce: String) {
    var nonces = NonceSequence(scalar: Self.bytes(Self.scalar), digest: SHA256.digest(Array(message.utf8)))
    let first = nonces.next()
    #expect(first == Self.bytes(nonce))
    #expect(nonces.next() != first)
  }

  @Test(arguments: [
    (
      "sample", "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
      "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
    ),
    (
      "test", "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
      "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
    ),
  ]) func `the signatures are those of the RFC`(message: String, r: String, s: String) throws {
    let key = try ProviderKey(keyID: "ABCDE12345", teamID: "TEAM567890", pem: Self.pem)
    for _ in 0..<3 { #expect(try key.signature(of: Array(message.utf8)) == Self.bytes(r + s)) }
  }

  @Test func `keys read from the same file mint equal tokens`() throws {
    for issuedAt: Int64 in 0..<50 {
      let (one, other) = (try fleetKey(), try fleetKey())
      #expect(try one.sign(issuedAt: issuedAt) == other.sign(issuedAt: issuedAt))
      #expect(try one.sign(issuedAt: issuedAt) != other.sign(issuedAt: issuedAt + 1))
    }
  }

  private func fleetKey() throws -> ProviderKey {
    try ProviderKey(keyID: "ABCDE12345", teamID: "TEAM567890", pem: TestKey.pem)
  }

  @Test func `a digest that is not of SHA-256 is not signed`() throws {
    let key = try #require(TestKey.pem.withCString { PEM_read_bio_PrivateKey(BIO_new_mem_buf($0, -1), nil, nil, nil) })
    defer { EVP_PKEY_free(key) }
    #expect(DeterministicSignature.sign(digest: [1, 2, 3], key: key) == nil)
    // As large as a digest can be: more than the order of the group.
    #expect(DeterministicSignature.sign(digest: Array(repeating: 0xFF, count: 32), key: key)?.count == 64)
    #expect(DeterministicSignature.sign(digest: Self.bytes(Self.order), key: key)?.count == 64)
  }
}
