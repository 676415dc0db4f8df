import COpenSSL
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// A non-blocking TLS connection. The first reads perform the handshake.
@EventLoop
final class TLSSocket {
  enum Transfer: Equatable {
    case bytes(Int)
    /// The socket must become readable, or writable, first.
    case waits(forWriting: Bool)
    case closed
  }

  /// Owned by this object.
  nonisolated let descriptor: Int32
  private let ssl: OpaquePointer

  /// Takes ownership of the descriptor, which is closed also if this returns nil.
  init?(descriptor: Int32, context: TLSContext) {
    guard let ssl = SSL_new(context.pointer), SSL_set_fd(ssl, descriptor) == 1 else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.ssl = ssl
    SSL_set_accept_state(ssl)
  }

  isolated deinit {
    SSL_free(ssl)
    close(descriptor)
  }

  var isSecured: Bool { SSL_is_init_finished(ssl) == 1 }

  func read(into buffer: inout [UInt8]) -> Transfer {
    let count = buffer.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
    return transfer(count)
  }

  func write(_ bytes: ArraySlice<UInt8>) -> Transfer {
    let count = bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
    return transfer(count)
  }

  /// Sends TLS' closing alert. The connection itself is closed with this object.
  func shutdown() {
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  private func transfer(_ count: Int32) -> Transfer {
    if count > 0 { return .bytes(Int(count)) }
    defer { ERR_clear_error() }
    switch SSL_get_error(ssl, count) {
    case SSL_ERROR_WANT_READ: return .waits(forWriting: false)
    case SSL_ERROR_WANT_WRITE: return .waits(forWriting: true)
    default: return .closed
    }
  }
}

/// The server's TLS configuration: its certificate, HTTP/2 by ALPN, TLS 1.2 or later.
final class TLSContext {
  /// Bytes read from the socket at once.
  private static let readBuffer = 65_536

  /// Owned by this object.
  let pointer: OpaquePointer

  init(certificate: Certificate, key: PrivateKey) throws(CredentialError) {
    guard let context = SSL_CTX_new(TLS_server_method()) else {
      throw .openSSL(step: "make a TLS context", reason: openSSLReason())
    }
    pointer = context
    let modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
    SSL_CTX_set_default_read_buffer_len(context, TLSContext.readBuffer)
    SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil)
    // Apple asks every client for a certificate, and needs none of those that have a provider token.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { _, _ in 1 }
    // OpenSSL does not resume sessions of clients that are asked.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
    guard SSL_CTX_use_certificate(context, certificate.pointer) == 1,
      SSL_CTX_use_PrivateKey(context, key.pointer) == 1
    else { throw .openSSL(step: "use the certificate", reason: openSSLReason()) }
  }

  deinit {
    SSL_CTX_free(pointer)
  }
}

private let onlyHTTP2: StaticString = "\u{2}h2"

private let selectProtocol: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenCount, offered, count, _ in
  var name: UnsafeMutablePointer<UInt8>?
  let result = SSL_select_next_proto(
    &name, chosenCount, onlyHTTP2.utf8Start, UInt32(onlyHTTP2.utf8CodeUnitCount), offered, count)
  chosen?.pointee = UnsafePointer(name)
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}
