import Glibc

/// A connected, non-blocking socket, with or without TLS. Owns the descriptor.
///
/// `@unchecked`: used by one thread at a time: made on the connector's queue, then used on the loop only.
final class Transport: @unchecked Sendable {
  /// What became of a read or a write.
  enum Progress: Equatable {
    case bytes(Int)
    case wouldBlock
    case ended(String)
  }

  let descriptor: Int32
  private let tls: TLSSession?

  init(descriptor: Int32, tls: TLSSession? = nil) {
    self.descriptor = descriptor
    self.tls = tls
  }

  deinit {
    close(descriptor)
  }

  /// Whether received bytes may be buffered outside the kernel, so that one must read until ``Progress/wouldBlock``.
  var buffersBytes: Bool { tls != nil }

  /// Reads into `buffer` from its start.
  func read(into buffer: inout [UInt8]) -> Progress {
    if let tls { return tls.read(into: &buffer) }
    while true {
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .bytes(count) }
      if count == 0 { return .ended("redis closed the connection") }
      if errno == EAGAIN { return .wouldBlock }
      if errno != EINTR { return .ended(String(cString: strerror(errno))) }
    }
  }

  /// Writes as much as possible of `bytes` from `start` on.
  func write(_ bytes: [UInt8], from start: Int) -> Progress {
    if let tls { return tls.write(bytes, from: start) }
    while true {
      let count = bytes.withUnsafeBytes { buffer in
        let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
        return send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 { return .bytes(count) }
      if errno == EAGAIN { return .wouldBlock }
      if errno != EINTR { return .ended(String(cString: strerror(errno))) }
    }
  }
}
