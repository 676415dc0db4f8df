import COpenSSL
import Crypto

/// Certificates that are trusted in addition to the system's.
///
/// `@unchecked`: never changed after `init`, and OpenSSL counts references atomically.
public final class TrustedCertificates: @unchecked Sendable {
  private let certificates: [OpaquePointer]
  /// SHA-256 of the PEM text.
  public let digest: [UInt8]

  /// Reads PEM text with one or more certificates. Text between them is ignored.
  public init(pem: String) throws(HTTPClientError) {
    let expected = "expected PEM text, -----BEGIN CERTIFICATE-----"
    let text = Array(pem.utf8)
    let (certificates, isWhole) = text.withUnsafeBytes(TrustedCertificates.read)
    // From here on deinit frees them, even if this throws.
    self.certificates = certificates
    digest = SHA256.digest(text)
    guard isWhole else {
      throw .configuration("certificate \(certificates.count + 1) cannot be read; \(expected)")
    }
    guard !certificates.isEmpty else { throw .configuration("the text contains no certificate; \(expected)") }
  }

  deinit {
    for certificate in certificates { X509_free(certificate) }
  }

  func add(to store: OpaquePointer?) -> Bool {
    certificates.allSatisfy { X509_STORE_add_cert(store, $0) == 1 }
  }

  /// Returns the certificates before the first that cannot be read, and whether these are all.
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

/// The server that a connection accepts: its certificate contains the host and is signed by a trusted authority. And the
/// buffers of the connection.
final class ExpectedPeer: Sendable {
  let host: String
  let trust: TrustStore
  let buffers: SecureChannel.Buffers

  init(host: String, trust: TrustStore, buffers: SecureChannel.Buffers = .full) {
    self.host = host
    self.trust = trust
    self.buffers = buffers
  }

  /// Configures a context while libcurl prepares it. Returns false if OpenSSL reports an error.
  func apply(to context: OpaquePointer?) -> Bool {
    trust.use(in: context)
    let parameters = SSL_CTX_get0_param(context)
    // libcurl compares the common name if there is no subjectAltName; this makes OpenSSL refuse such a certificate.
    X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1
    return isAddress || X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1
  }
}
