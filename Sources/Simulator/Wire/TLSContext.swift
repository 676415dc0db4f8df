import COpenSSL

/// The server's side of TLS: certificate, HTTP/2 by ALPN, TLS 1.2 or later.
final class TLSContext {
  /// Bytes read ahead from the socket at once.
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
    guard SSL_CTX_use_certificate(context, certificate.pointer) == 1,
      SSL_CTX_use_PrivateKey(context, key.pointer) == 1
    else { throw .openSSL(step: "use the certificate", reason: openSSLReason()) }
  }

  deinit {
    SSL_CTX_free(pointer)
  }
}

private let selectProtocol: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenCount, offered, count, _ in
  guard let offered, let chosen, let chosenCount else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  var position = 0
  while position < Int(count) {
    let length = Int(offered[position])
    guard position + 1 + length <= Int(count) else { break }
    if length == 2, offered[position + 1] == UInt8(ascii: "h"), offered[position + 2] == UInt8(ascii: "2") {
      chosen.pointee = offered + position + 1
      chosenCount.pointee = 2
      return SSL_TLSEXT_ERR_OK
    }
    position += 1 + length
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL
}
