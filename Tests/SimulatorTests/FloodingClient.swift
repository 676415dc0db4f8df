import COpenSSL
import Glibc
import TestSupport

/// A client of HTTP/2 over TLS that sends frames and reads only when it is told to.
final class FloodingClient {
  /// How long the server must take nothing until it counts as one that does not read.
  private static let stallMilliseconds: Int32 = 2_000

  private let descriptor: Int32
  private let context: OpaquePointer
  private let session: OpaquePointer
  /// Frames that were not sent yet.
  private var output: [UInt8] = []

  /// Connects to the loopback interface and sends the preface.
  init(port: Int) throws {
    // OpenSSL writes with write(2).
    signal(SIGPIPE, SIG_IGN)
    descriptor = try FloodingClient.connect(port)
    guard let context = SSL_CTX_new(TLS_client_method()), let session = SSL_new(context) else {
      throw TestTimeout("OpenSSL is out of memory")
    }
    self.context = context
    self.session = session
    SSL_ctrl(
      session, SSL_CTRL_MODE, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER), nil)
    SSL_set_fd(session, descriptor)
    guard SSL_connect(session) == 1 else { throw TestTimeout("the TLS handshake failed") }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    output = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frame.bytes(.settings)
  }

  deinit {
    SSL_free(session)
    SSL_CTX_free(context)
    close(descriptor)
  }

  /// Sends the frames that `next` returns for 0, 1, 2, …, without reading. Returns the number of bytes that the server
  /// has taken, at most `limit`.
  func flood(upTo limit: Int, _ next: (Int) -> [UInt8]) throws -> Int {
    var (number, taken) = (0, 0)
    while taken < limit {
      while output.count < 16_384 {
        output += next(number)
        number += 1
      }
      guard let count = try write() else { return taken }
      taken += count
    }
    return taken
  }

  /// Sends a ping behind the flood, and reads until it is answered.
  func ping(_ text: String) throws {
    output += Frame.bytes(.ping, Array(text.utf8))
    let answer = Frame.bytes(.ping, flags: 1, Array(text.utf8))
    var (input, tail) = ([UInt8](repeating: 0, count: 65_536), [UInt8]())
    while tail.firstRange(of: answer) == nil {
      if !output.isEmpty, let count = try send() { output.removeFirst(count) }
      ERR_clear_error()
      let count = SSL_read(session, &input, Int32(input.count))
      if count > 0 {
        tail = tail.suffix(answer.count) + input[..<Int(count)]
      } else {
        guard SSL_get_error(session, count) == SSL_ERROR_WANT_READ else { throw TestTimeout("the connection ended") }
        guard wait(for: POLLIN, patience.milliseconds) else { throw TestTimeout("no answer to the ping") }
      }
    }
  }

  /// Returns nil if the server takes nothing.
  private func write() throws -> Int? {
    while true {
      if let count = try send() {
        output.removeFirst(count)
        return count
      }
      guard wait(for: POLLOUT, FloodingClient.stallMilliseconds) else { return nil }
    }
  }

  /// Returns nil if the server must take something first.
  private func send() throws -> Int? {
    ERR_clear_error()
    let count = SSL_write(session, output, Int32(output.count))
    if count > 0 { return Int(count) }
    guard SSL_get_error(session, count) == SSL_ERROR_WANT_WRITE else { throw TestTimeout("the connection ended") }
    return nil
  }

  private func wait(for events: Int32, _ milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  private static func connect(_ port: Int) throws -> Int32 {
    let descriptor = SocketPlace.port(port).makeSocket()
    guard SocketPlace.port(port).connect(descriptor) else { throw WireError.notConnected(errno) }
    return descriptor
  }
}

/// Frames of HTTP/2.
enum Frame {
  enum Kind: UInt8 {
    case headers = 1
    case settings = 4
    case ping = 6
  }

  static func bytes(_ kind: Kind, flags: UInt8 = 0, stream: Int = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let (size, id) = (UInt32(payload.count), UInt32(stream))
    return [UInt8(size >> 16), UInt8(size >> 8 & 255), UInt8(size & 255), kind.rawValue, flags]
      + [24, 16, 8, 0].map { UInt8(id >> $0 & 255) } + payload
  }

  /// `GET https:///`
  static func request(_ number: Int) -> [UInt8] {
    bytes(.headers, flags: 5, stream: 2 * number + 1, [0x82, 0x87, 0x84])
  }
}

extension Duration {
  fileprivate var milliseconds: Int32 { Int32(components.seconds * 1_000) }
}
