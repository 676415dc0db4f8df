import Glibc

/// A TCP port of the loopback interface that was free a moment ago.
public func freePort() throws -> Int {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { throw Pipe.Failure(code: errno) }
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let code = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
      bind(descriptor, generic, length) == 0 ? getsockname(descriptor, generic, &length) : -1
    }
  }
  guard code == 0 else { throw Pipe.Failure(code: errno) }
  return Int(UInt16(bigEndian: address.sin_port))
}
