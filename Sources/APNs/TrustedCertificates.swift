import COpenSSL

/// Certificates that are trusted beside the system's.
///
/// `@unchecked`: never changed after `init`, and OpenSSL counts references atomically.
final class TrustedCertificates: @unchecked Sendable {
  private let certificates: [OpaquePointer]

  /// PEM text with one certificate or several; what stands between them is ignored.
  init(pem: String) throws(APNsError) {
    let expected = "expected PEM text, -----BEGIN CERTIFICATE-----"
    let text = Array(pem.utf8)
    let (certificates, isWhole) = text.withUnsafeBytes(TrustedCertificates.read)
    // From here on deinit frees them, whatever is thrown.
    self.certificates = certificates
    guard isWhole else {
      throw .configuration("certificate \(certificates.count + 1) cannot be read; \(expected)")
    }
    guard !certificates.isEmpty else { throw .configuration("there is no certificate in it; \(expected)") }
  }

  deinit {
    for certificate in certificates { X509_free(certificate) }
  }

  func add(to store: OpaquePointer?) -> Bool {
    certificates.allSatisfy { X509_STORE_add_cert(store, $0) == 1 }
  }

  /// Those up to the first that cannot be read, and whether that is all of them.
  private static func read(_ bytes: UnsafeRawBufferPointer) -> ([OpaquePointer], isWhole: Bool) {
    var certificates: [OpaquePointer] = []
    // OpenSSL reads from the bytes in place.
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return ([], false) }
    defer { BIO_free(bio) }
    ERR_clear_error()
    while let certificate = PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) { certificates.append(certificate) }
    let isWhole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
    ERR_clear_error()
    return (certificates, isWhole)
  }
}
