import COpenSSL

/// A P-256 public key.
final class PublicKey {
  private let key: OpaquePointer

  /// From a PEM file, public or private.
  init(path: String) throws(CredentialError) {
    guard let file = BIO_new_file(path, "r") else { throw .cannotRead(path: path, reason: openSSLReason()) }
    defer { BIO_free(file) }
    var found = PEM_read_bio_PUBKEY(file, nil, nil, nil)
    if found == nil {
      BIO_ctrl(file, BIO_CTRL_RESET, 0, nil)
      found = PEM_read_bio_PrivateKey(file, nil, nil, nil)
    }
    guard let found else { throw .cannotRead(path: path, reason: "no PEM key: \(openSSLReason())") }
    key = found
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// `signature` is r and s, 32 bytes each, as in a JSON Web Signature.
  func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
    guard signature.count == 64, let der = PublicKey.der(signature), let context = EVP_MD_CTX_new() else {
      return false
    }
    defer { EVP_MD_CTX_free(context) }
    defer { ERR_clear_error() }
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
    return message.withUnsafeBufferPointer { message in
      EVP_DigestVerify(context, der, der.count, message.baseAddress, message.count) == 1
    }
  }

  private static func der(_ signature: [UInt8]) -> [UInt8]? {
    guard let pair = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(pair) }
    let (r, s) = signature.withUnsafeBufferPointer {
      (BN_bin2bn($0.baseAddress, 32, nil), BN_bin2bn($0.baseAddress! + 32, 32, nil))
    }
    guard ECDSA_SIG_set0(pair, r, s) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 80)
    let count = bytes.withUnsafeMutableBufferPointer { buffer in
      var end = buffer.baseAddress
      return i2d_ECDSA_SIG(pair, &end)
    }
    return count > 0 ? Array(bytes.prefix(Int(count))) : nil
  }
}

/// The oldest error on OpenSSL's list, which is emptied.
func openSSLReason() -> String {
  var text = [CChar](repeating: 0, count: 256)
  ERR_error_string_n(ERR_get_error(), &text, text.count)
  ERR_clear_error()
  return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
