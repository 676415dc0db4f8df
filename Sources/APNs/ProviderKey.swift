import CGnuTLS
import Crypto
import PushModel

/// The private key of a team; signs provider tokens.
///
/// `@unchecked`: the key is never changed after `init`, and GnuTLS allows reading an object from any thread.
final class ProviderKey: @unchecked Sendable {
  private static let identifier = Charset("", length: 1...32)
  /// The size of r and of s of a signature with P-256.
  private static let scalarBytes = 32

  let keyID: String
  let teamID: String
  private let key: gnutls_privkey_t

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
    gnutls_privkey_deinit(key)
  }

  static func isIdentifier(_ text: String) -> Bool { identifier.accepts(text) }

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

  private static func read(_ pem: String) throws(APNsError) -> gnutls_privkey_t {
    var text = Array(pem.utf8)
    defer { text.withUnsafeMutableBytes { gnutls_memset($0.baseAddress, 0, $0.count) } }
    var created: gnutls_privkey_t?
    guard gnutls_privkey_init(&created) == GNUTLS_E_SUCCESS, let key = created else {
      throw .signing("GnuTLS is out of memory")
    }
    let isRead = text.withUnsafeMutableBufferPointer { bytes in
      var pem = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(clamping: bytes.count))
      var curve = GNUTLS_ECC_CURVE_INVALID
      return gnutls_privkey_import_x509_raw(key, &pem, GNUTLS_X509_FMT_PEM, nil, 0) == GNUTLS_E_SUCCESS
        && gnutls_privkey_export_ecc_raw2(key, &curve, nil, nil, nil, 0) == GNUTLS_E_SUCCESS
        && curve == GNUTLS_ECC_CURVE_SECP256R1
    }
    guard isRead else {
      gnutls_privkey_deinit(key)
      throw .configuration(
        "the APNs private key is not the text of a .p8 file; expected a P-256 key between "
          + "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----")
    }
    return key
  }

  /// Returns an ES256 signature: r and s, 32 bytes each. The nonces are those of RFC 6979, so the same message has the same
  /// signature in every process.
  func signature(of message: [UInt8]) throws(APNsError) -> [UInt8] {
    var message = message
    var signature = gnutls_datum_t()
    let status = message.withUnsafeMutableBufferPointer { bytes in
      var data = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
      let flags = GNUTLS_PRIVKEY_FLAG_REPRODUCIBLE.rawValue
      return gnutls_privkey_sign_data2(key, GNUTLS_SIGN_ECDSA_SHA256, flags, &data, &signature)
    }
    guard status == GNUTLS_E_SUCCESS else { throw ProviderKey.error(status) }
    defer { martlet_gnutls_free(signature.data) }
    var (r, s) = (gnutls_datum_t(), gnutls_datum_t())
    let decoded = gnutls_decode_rs_value(&signature, &r, &s)
    guard decoded == GNUTLS_E_SUCCESS else { throw ProviderKey.error(decoded) }
    defer {
      martlet_gnutls_free(r.data)
      martlet_gnutls_free(s.data)
    }
    return ProviderKey.scalar(r) + ProviderKey.scalar(s)
  }

  /// The integer of a DER value, without its sign byte, in 32 bytes.
  private static func scalar(_ integer: gnutls_datum_t) -> [UInt8] {
    let digits = Array(UnsafeBufferPointer(start: integer.data, count: Int(integer.size))).drop { $0 == 0 }
    return [UInt8](repeating: 0, count: scalarBytes - digits.count) + digits
  }

  private static func error(_ status: Int32) -> APNsError {
    .signing("GnuTLS could not sign the provider token: \(String(cString: gnutls_strerror(status)))")
  }
}
