import Foundation
import Testing

@testable import APNs

/// RFC 6979, appendix A.2.5: P-256 with SHA-256.
struct DeterministicSignatureTests {
  private static let scalar = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721"

  private static let x = "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
  private static let y = "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"

  /// The key of the RFC as a .p8 file of Apple's form, with its public key.
  private static var pem: String {
    let head = "308187020100301306072A8648CE3D020106082A8648CE3D030107" + "046D306B020101" + "0420"
    let point = "A144034200" + "04" + x + y
    let text = Data(bytes(head + scalar + point)).base64EncodedString(options: .lineLength64Characters)
    return "-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n"
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.utf8.count, by: 2).compactMap { place in
      UInt8(hex.dropFirst(place).prefix(2), radix: 16)
    }
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
}
