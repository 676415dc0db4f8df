import Glibc

/// TCP sockets of the loopback interface that do not block.
enum LoopbackSocket {
  /// A socket that listens on a free port; throws an errno.
  static func listening() throws(SocketError) -> (descriptor: Int32, port: Int) {
    let descriptor = try make()
    var port = 0
    let isListening = withAddress(port: 0) { address, length in
      bind(descriptor, address, length) == 0 && listen(descriptor, 128) == 0
    }
    if isListening { port = localPort(of: descriptor) }
    guard port > 0 else {
      let code = errno
      close(descriptor)
      throw SocketError(code: code)
    }
    return (descriptor, port)
  }

  /// A socket that is connected or connecting; nil if the connection was refused.
  static func connecting(to port: Int) -> Int32? {
    guard let descriptor = try? make() else { return nil }
    let isConnecting = withAddress(port: port) { address, length in
      connect(descriptor, address, length) == 0 || errno == EINPROGRESS
    }
    if isConnecting { return descriptor }
    close(descriptor)
    return nil
  }

  /// The next connection; nil if there is none.
  static func accepted(by listener: Int32) -> Int32? {
    let descriptor = accept(listener, nil, nil)
    guard descriptor >= 0 else { return nil }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    setNoDelay(descriptor)
    return descriptor
  }

  static func localPort(of descriptor: Int32) -> Int {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
    }
    return isKnown ? Int(UInt16(bigEndian: address.sin_port)) : 0
  }

  private static func make() throws(SocketError) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    guard descriptor >= 0 else { throw SocketError(code: errno) }
    setNoDelay(descriptor)
    return descriptor
  }

  private static func setNoDelay(_ descriptor: Int32) {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func withAddress(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}

struct SocketError: Error, CustomStringConvertible {
  let code: Int32

  var description: String { "cannot listen on a port of the loopback interface: \(String(cString: strerror(code)))" }
}
