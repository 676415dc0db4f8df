#if canImport(Glibc)
  import Glibc
#endif

/// The port of a connection's other end.
enum ClientPort {
  /// Returns 0 if it is not an IPv4 connection.
  static func of(_ descriptor: Int32) -> Int {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
    }
    return isKnown && address.sin_family == sa_family_t(AF_INET) ? Int(UInt16(bigEndian: address.sin_port)) : 0
  }
}
