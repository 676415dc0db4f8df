import Glibc

/// A blocking client socket of a test: bytes out, text in. A read that waits longer than ``patience`` fails.
public struct Wire: ~Copyable, Sendable {
  private let descriptor: Int32

  /// `address` is an address of the loopback interface.
  public init(port: Int, from address: String = "127.0.0.1") throws {
    descriptor = SocketPlace.port(port).makeSocket()
    var limit = timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard SocketPlace.port(0, host: address).bind(descriptor), SocketPlace.port(port).connect(descriptor) else {
      throw WireError.notConnected(errno)
    }
  }

  deinit { close(descriptor) }

  /// Everything that comes back for `request` on a connection of its own, until the server closes it.
  public static func answer(to request: String, port: Int) throws -> String {
    let wire = try Wire(port: port)
    wire.send(request)
    return try wire.readToEnd()
  }

  /// Sends a head that announces a body, which does not follow. Returns what comes back until the connection ends.
  public static func answer(toHead line: String, _ fields: String = "", port: Int) async throws -> String {
    try await blocking {
      try answer(to: "\(line) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: 65000\r\n\r\n", port: port)
    }
  }

  public func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  /// Everything up to `count` occurrences of `end`.
  public func read(until end: String, count: Int = 1) throws -> String {
    var text = ""
    while text.components(of: end) < count {
      guard let more = receive(), !more.isEmpty else { throw WireError.ended(text) }
      text += more
    }
    return text
  }

  /// Everything up to the end of the connection.
  public func readToEnd() throws -> String {
    var text = ""
    while true {
      guard let more = receive() else { throw WireError.ended(text) }
      if more.isEmpty { return text }
      text += more
    }
  }

  /// Returns an empty array at the end of the connection, and nil if nothing arrived in time.
  private func receive() -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0 { return errno == ECONNRESET ? "" : nil }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }
}

public enum WireError: Error {
  case notConnected(Int32)
  /// Carries what was received until then.
  case ended(String)
}

extension String {
  fileprivate func components(of part: String) -> Int {
    var count = 0
    var rest = self[...]
    while let range = rest.firstRange(of: part) {
      count += 1
      rest = rest[range.upperBound...]
    }
    return count
  }
}
