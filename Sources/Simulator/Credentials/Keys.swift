import COpenSSL

/// A new P-256 key pair.
final class PrivateKey {
  /// Owned by this object.
  let pointer: OpaquePointer

  init() throws(CredentialError) {
    guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else {
      throw .openSSL(step: "prepare a key", reason: openSSLReason())
    }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1,
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
      EVP_PKEY_keygen(context, &key) == 1, let key
    else { throw .openSSL(step: "make a key", reason: openSSLReason()) }
    pointer = key
  }

  deinit {
    EVP_PKEY_free(pointer)
  }

  /// Writes the key as PKCS #8 in PEM, the format of Apple's .p8 files.
  func write(to path: String) throws(CredentialError) {
    guard let file = BIO_new_file(path, "w") else { throw .cannotWrite(path: path, reason: openSSLReason()) }
    defer { BIO_free(file) }
    guard PEM_write_bio_PKCS8PrivateKey(file, pointer, nil, nil, 0, nil, nil) == 1 else {
      throw .cannotWrite(path: path, reason: openSSLReason())
    }
  }
}

/// A P-256 public key.
final class PublicKey {
  private let key: OpaquePointer

  /// Reads a PEM file with a public or private key.
  init(path: String) throws(CredentialError) {
    guard let file = BIO_new_file(path, "r") else { throw .cannotRead(path: path, reason: openSSLReason()) }
    defer { BIO_free(file) }
    // An error that is left would be taken for one of a connection.
    defer { ERR_clear_error() }
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

  /// Returns whether `signature`, r and s of 32 bytes each, is valid for `message`.
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

/// Returns the oldest error in OpenSSL's queue, and empties the queue.
func openSSLReason() -> String {
  var text = [CChar](repeating: 0, count: 256)
  ERR_error_string_n(ERR_get_error(), &text, text.count)
  ERR_clear_error()
  return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// An error while making, reading or writing keys or certificates.
enum CredentialError: Error, CustomStringConvertible {
  case cannotRead(path: String, reason: String)
  case cannotWrite(path: String, reason: String)
  case openSSL(step: StaticString, reason: String)

  var description: String {
    switch self {
    case .cannotRead(let path, let reason): "cannot read \(path): \(reason)"
    case .cannotWrite(let path, let reason): "cannot write \(path): \(reason)"
    case .openSSL(let step, let reason): "OpenSSL failed to \(step): \(reason)"
    }
  }
}
