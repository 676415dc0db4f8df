import COpenSSL
import Crypto
import Glibc

/// TLS by OpenSSL over a non-blocking socket. The peer's certificate chain and name are always verified.
final class TLSSession {
  private static let ignoresBrokenPipes: Void = {
    // OpenSSL writes with write(2): writing to a closed connection must fail, not end the process.
    _ = signal(SIGPIPE, SIG_IGN)
  }()

  /// The faults of a chain whose authority is not trusted.
  private static let unknownAuthority: Set<Int32> = [
    X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
    X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
    X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
  ]

  private let context: OpaquePointer
  private let session: OpaquePointer

  /// `host` is the name or address that the certificate must contain as a subject alternative name. Trusts the system's
  /// authorities and those of `caCertificatePEM`. Shows `clientCertificate` to a server that asks for one.
  init(
    descriptor: Int32, host: String, caCertificatePEM: String?, clientCertificate: ServerCertificate? = nil
  ) throws(RedisError) {
    _ = TLSSession.ignoresBrokenPipes
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw TLSSession.failure("cannot make a context") }
    if let clientCertificate, !clientCertificate.use(in: context) {
      SSL_CTX_free(context)
      throw TLSSession.failure("cannot use the client certificate (REDIS_CLIENT_CERT, REDIS_CLIENT_KEY)")
    }
    guard let session = TLSSession.makeSession(context, descriptor, host, caCertificatePEM) else {
      SSL_CTX_free(context)
      throw TLSSession.failure(
        caCertificatePEM == nil ? "cannot prepare the session" : "cannot use the CA certificate (REDIS_CA_CERT)")
    }
    self.context = context
    self.session = session
  }

  deinit {
    SSL_free(session)
    SSL_CTX_free(context)
  }

  /// Performs the handshake. Blocks until `deadline` on the monotonic clock at most.
  func handshake(_ descriptor: Int32, until deadline: UInt64) throws(RedisError) {
    while true {
      ERR_clear_error()
      let code = SSL_connect(session)
      if code == 1 { return }
      let events: Int32
      switch SSL_get_error(session, code) {
      case SSL_ERROR_WANT_READ: events = POLLIN
      case SSL_ERROR_WANT_WRITE: events = POLLOUT
      default: throw .notSent("TLS handshake failed: \(handshakeFailure)")
      }
      guard Poll.wait(descriptor, for: events, until: deadline) else {
        throw .notSent("the TLS handshake was not answered in time: does this port speak TLS?")
      }
    }
  }

  func read(into buffer: inout [UInt8]) -> Transport.Progress {
    ERR_clear_error()
    var count = 0
    let code = buffer.withUnsafeMutableBytes { SSL_read_ex(session, $0.baseAddress, $0.count, &count) }
    if code == 1 { return .bytes(count) }
    switch SSL_get_error(session, code) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return .ended("redis closed the connection")
    // With TLS 1.3 the server judges the client's certificate after the handshake.
    default: return .ended(TLSSession.reason ?? "redis closed the connection")
    }
  }

  func write(_ bytes: [UInt8], from start: Int) -> Transport.Progress {
    ERR_clear_error()
    var count = 0
    let code = bytes.withUnsafeBytes { buffer in
      let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
      return SSL_write_ex(session, rest.baseAddress, rest.count, &count)
    }
    if code == 1 { return .bytes(count) }
    switch SSL_get_error(session, code) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
    default: return .ended(TLSSession.reason ?? "redis closed the connection")
    }
  }

  private var handshakeFailure: String {
    let verification = SSL_get_verify_result(session)
    guard verification != Int(X509_V_OK) else { return TLSSession.reason ?? "redis closed the connection" }
    let reason = "certificate refused: \(String(cString: X509_verify_cert_error_string(verification)))"
    guard TLSSession.unknownAuthority.contains(Int32(truncatingIfNeeded: verification)) else { return reason }
    return reason + ", set REDIS_CA_CERT to the authority that signed it"
  }
}

extension TLSSession {
  /// Returns whether the text contains at least one readable certificate.
  static func isCertificatePEM(_ pem: String) -> Bool {
    !PEMCertificates(Array(pem.utf8)).certificates.isEmpty
  }

  private static func makeSession(
    _ context: OpaquePointer, _ descriptor: Int32, _ host: String, _ caCertificatePEM: String?
  ) -> OpaquePointer? {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    let modes =
      SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
    guard SSL_CTX_set_default_verify_paths(context) == 1 else { return nil }
    if let caCertificatePEM {
      let authorities = PEMCertificates(Array(caCertificatePEM.utf8))
      guard !authorities.certificates.isEmpty, authorities.add(to: SSL_CTX_get_cert_store(context)) else { return nil }
    }
    guard let session = SSL_new(context) else { return nil }
    guard SSL_set_fd(session, descriptor) == 1, expect(host, of: session) else {
      SSL_free(session)
      return nil
    }
    return session
  }

  /// Requires `host` in the certificate, and sends it to the peer (SNI) if it is a name.
  private static func expect(_ host: String, of session: OpaquePointer) -> Bool {
    // Authorities do not verify a common name as a host name.
    X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(session), UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1 { return true }
    let named = host.withCString { name in
      SSL_ctrl(
        session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), UnsafeMutableRawPointer(mutating: name))
    }
    return named == 1 && SSL_set1_host(session, host) == 1
  }

  private static func failure(_ what: String) -> RedisError {
    .notSent("TLS: \(what)\(reason.map { ": \($0)" } ?? "")")
  }

  /// OpenSSL's description of the last error on this thread, with the settings that a refused client certificate needs.
  private static var reason: String? {
    let code = ERR_peek_last_error()
    guard let text = ERR_reason_error_string(code).map({ "TLS: \(String(cString: $0))" }) else { return nil }
    switch ERR_GET_REASON(code) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return text + ": does the server ask for a client certificate? Set REDIS_CLIENT_CERT and REDIS_CLIENT_KEY"
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
      SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return text + ": the server refuses REDIS_CLIENT_CERT; its authority must be one that the server trusts"
    default: return text
    }
  }
}
