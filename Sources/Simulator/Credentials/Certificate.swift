import COpenSSL

/// A certificate: that of an authority, or that of a server, signed by an authority.
final class Certificate {
  /// Seconds from now: from a day ago, for clocks that are behind, to ten years.
  private static let validity = (from: -86_400, to: 3650 * 86_400)

  /// Owned by this object.
  let pointer: OpaquePointer

  /// Makes a self-signed authority.
  static func authority(named name: String, key: PrivateKey) throws(CredentialError) -> Certificate {
    try Certificate(
      name: name, key: key, issuer: nil, issuerKey: key,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
  }

  /// Makes a server certificate for localhost, its addresses and `names`.
  static func localServer(
    names: [String], key: PrivateKey, issuer: Certificate, issuerKey: PrivateKey
  ) throws(CredentialError) -> Certificate {
    try Certificate(
      name: "localhost", key: key, issuer: issuer, issuerKey: issuerKey,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1" + names.map { ",DNS:\($0)" }.joined()),
        (NID_authority_key_identifier, "keyid"),
      ])
  }

  private init(
    name: String, key: PrivateKey, issuer: Certificate?, issuerKey: PrivateKey,
    extensions: [(name: Int32, value: String)]
  ) throws(CredentialError) {
    guard let certificate = X509_new() else { throw .openSSL(step: "make a certificate", reason: openSSLReason()) }
    pointer = certificate
    let issuer = issuer?.pointer ?? certificate
    let subject = X509_get_subject_name(certificate)
    guard X509_set_version(certificate, 2) == 1,
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), .random(in: 1 ... .max >> 1)) == 1,
      X509_gmtime_adj(X509_getm_notBefore(certificate), Certificate.validity.from) != nil,
      X509_gmtime_adj(X509_getm_notAfter(certificate), Certificate.validity.to) != nil,
      X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, "APNs simulator", -1, -1, 0) == 1,
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1,
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1,
      X509_set_pubkey(certificate, key.pointer) == 1
    else { throw .openSSL(step: "fill a certificate", reason: openSSLReason()) }
    for (name, value) in extensions { try add(name, value, issuer: issuer) }
    guard X509_sign(certificate, issuerKey.pointer, EVP_sha256()) > 0 else {
      throw .openSSL(step: "sign a certificate", reason: openSSLReason())
    }
  }

  deinit {
    X509_free(pointer)
  }

  func write(to path: String) throws(CredentialError) {
    guard let file = BIO_new_file(path, "w") else { throw .cannotWrite(path: path, reason: openSSLReason()) }
    defer { BIO_free(file) }
    guard PEM_write_bio_X509(file, pointer) == 1 else { throw .cannotWrite(path: path, reason: openSSLReason()) }
  }

  private func add(_ name: Int32, _ value: String, issuer: OpaquePointer) throws(CredentialError) {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer, pointer, nil, nil, 0)
    guard let part = X509V3_EXT_nconf_nid(nil, &context, name, value) else {
      throw .openSSL(step: "make an extension", reason: openSSLReason())
    }
    defer { X509_EXTENSION_free(part) }
    guard X509_add_ext(pointer, part, -1) == 1 else {
      throw .openSSL(step: "add an extension", reason: openSSLReason())
    }
  }
}
