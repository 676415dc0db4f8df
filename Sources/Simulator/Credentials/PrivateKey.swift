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

  /// PKCS #8 in PEM, the format of Apple's .p8 files.
  func write(to path: String) throws(CredentialError) {
    guard let file = BIO_new_file(path, "w") else { throw .cannotWrite(path: path, reason: openSSLReason()) }
    defer { BIO_free(file) }
    guard PEM_write_bio_PKCS8PrivateKey(file, pointer, nil, nil, 0, nil, nil) == 1 else {
      throw .cannotWrite(path: path, reason: openSSLReason())
    }
  }
}
