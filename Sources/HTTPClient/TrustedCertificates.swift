import COpenSSL
import Crypto

/// Certificates that are trusted in addition to the system's.
public struct TrustedCertificates: Sendable {
  private let certificates: PEMCertificates
  /// SHA-256 of the PEM text.
  public let digest: [UInt8]

  /// Reads PEM text with one or more certificates. Text between them is ignored.
  public init(pem: String) throws(HTTPClientError) {
    let expected = "expected PEM text, -----BEGIN CERTIFICATE-----"
    let text = Array(pem.utf8)
    certificates = PEMCertificates(text)
    digest = SHA256.digest(text)
    let count = certificates.certificates.count
    guard certificates.isWhole else { throw .configuration("certificate \(count + 1) cannot be read; \(expected)") }
    guard count > 0 else { throw .configuration("the text contains no certificate; \(expected)") }
  }

  func add(to store: OpaquePointer?) -> Bool { certificates.add(to: store) }
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
