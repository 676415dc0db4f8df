import COpenSSL

/// The certificates of PEM text. Text between them is ignored.
///
/// `@unchecked`: never changed after `init`, and OpenSSL counts references atomically.
package final class PEMCertificates: @unchecked Sendable {
  /// Those before the first that cannot be read, as OpenSSL's `X509`.
  package let certificates: [OpaquePointer]
  /// Whether these are all.
  package let isWhole: Bool

  /// Reads at most `limit` certificates.
  package init(_ pem: [UInt8], limit: Int = .max) {
    (certificates, isWhole) = pem.withUnsafeBytes { PEMCertificates.read($0, limit: limit) }
  }

  deinit {
    for certificate in certificates { X509_free(certificate) }
  }

  /// Makes the holder of a `X509_STORE` trust the certificates. Returns false if OpenSSL reports an error.
  package func add(to store: OpaquePointer?) -> Bool {
    certificates.allSatisfy { X509_STORE_add_cert(store, $0) == 1 }
  }

  private static func read(_ bytes: UnsafeRawBufferPointer, limit: Int) -> ([OpaquePointer], isWhole: Bool) {
    var certificates: [OpaquePointer] = []
    // OpenSSL reads from the bytes in place.
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return ([], false) }
    defer { BIO_free(bio) }
    ERR_clear_error()
    // Without the closure OpenSSL would ask for a passphrase on the terminal.
    while certificates.count < limit, let certificate = PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) {
      certificates.append(certificate)
    }
    let isWhole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
    ERR_clear_error()
    return (certificates, isWhole)
  }
}
