import COpenSSL

/// Who may answer a connection: a server whose certificate names the host, signed by an authority of the system or by one that
/// was configured.
final class ExpectedPeer: Sendable {
  let host: String
  let authorities: TrustedCertificates?

  init(host: String, authorities: TrustedCertificates?) {
    self.host = host
    self.authorities = authorities
  }

  /// False when OpenSSL refuses; to be called within libcurl's preparation of the context.
  func apply(to context: OpaquePointer?) -> Bool {
    if let authorities, !authorities.add(to: SSL_CTX_get_cert_store(context)) { return false }
    let parameters = SSL_CTX_get0_param(context)
    // libcurl takes the common name for the host where there is no subjectAltName; OpenSSL is told not to.
    X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1
    return isAddress || X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1
  }
}
