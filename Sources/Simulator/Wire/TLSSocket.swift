import COpenSSL
import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// A non-blocking TLS connection; the handshake happens within the first reads.
@EventLoop
final class TLSSocket {
  enum Outcome: Equatable {
    case bytes(Int)
    /// Nothing until the socket is readable (or writable) again.
    case waits(forWriting: Bool)
    case closed
  }

  /// Owned: closed with this object.
  nonisolated let descriptor: Int32
  private let ssl: OpaquePointer

  /// Takes the descriptor, which is closed too when this fails.
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

  func read(into buffer: inout [UInt8]) -> Outcome {
    let count = buffer.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
    return outcome(count)
  }

  func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
    let count = bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) }
    return outcome(count)
  }

  /// Tells the peer that nothing more comes; the connection ends with this object.
  func sayGoodbye() {
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  private func outcome(_ count: Int32) -> Outcome {
    if count > 0 { return .bytes(Int(count)) }
    defer { ERR_clear_error() }
    switch SSL_get_error(ssl, count) {
    case SSL_ERROR_WANT_READ: return .waits(forWriting: false)
    case SSL_ERROR_WANT_WRITE: return .waits(forWriting: true)
    default: return .closed
    }
  }
}
