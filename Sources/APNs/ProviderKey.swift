import COpenSSL
import Crypto

/// The private key of a team; signs provider tokens.
///
/// `@unchecked`: the key is never changed after `init`, and OpenSSL allows signing with it from any thread.
final class ProviderKey: @unchecked Sendable {
  private static let maximumIdentifierCharacters = 32

  let keyID: String
  let teamID: String
  private let key: OpaquePointer

  init(keyID: String, teamID: String, pem: String) throws(APNsError) {
    for (name, value) in [("key id", keyID), ("team id", teamID)] {
      // The value is not quoted: it may be the private key by mistake.
      guard ProviderKey.isIdentifier(value) else {
        throw .configuration("the APNs \(name) is not valid; expected 10 letters and digits")
      }
    }
    self.keyID = keyID
    self.teamID = teamID
    key = try ProviderKey.read(pem)
  }

  deinit {
    EVP_PKEY_free(key)
  }

  static func isIdentifier(_ text: String) -> Bool {
    (1...maximumIdentifierCharacters).contains(text.utf8.count)
      && text.utf8.allSatisfy { Base64URL.alphabet.prefix(62).contains($0) }
  }

  /// Returns `<header>.<claims>.<signature>`, each base64url. `issuedAt` is in unix seconds.
  func sign(issuedAt: Int64) throws(APNsError) -> [UInt8] {
    var token = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
    token.append(UInt8(ascii: "."))
    token += Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8))
    let signature = try signature(of: token)
    token.append(UInt8(ascii: "."))
    token += Base64URL.encode(signature)
    return token
  }

  private static func read(_ pem: String) throws(APNsError) -> OpaquePointer {
    var text = Array(pem.utf8)
    defer { text.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    let refusal = APNsError.configuration(
      "the APNs private key is not the text of a .p8 file; expected a P-256 key between "
        + "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----")
    let read: OpaquePointer? = text.withUnsafeBytes { bytes in
      // OpenSSL reads from the bytes in place, so they must outlive the BIO.
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      // Without a callback OpenSSL would prompt for the pass phrase of an encrypted key on the terminal.
      return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
    }
    guard let key = read else {
      ERR_clear_error()
      throw refusal
    }
    var name = [CChar](repeating: 0, count: 32)
    guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1, strcmp(name, "prime256v1") == 0 else {
      EVP_PKEY_free(key)
      ERR_clear_error()
      throw refusal
    }
    return key
  }

  /// Returns an ES256 signature: r and s, 32 bytes each. The same message has the same signature in every process.
  func signature(of message: [UInt8]) throws(APNsError) -> [UInt8] {
    guard let signature = DeterministicSignature.sign(digest: SHA256.digest(message), key: key) else {
      throw .signing("OpenSSL could not sign the provider token")
    }
    return signature
  }
}
