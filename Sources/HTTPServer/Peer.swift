import CMicroHTTPD

#if canImport(Glibc)
  import Glibc
#endif

/// An open connection.
final class Peer {
  let descriptor: Int32
  let address: ClientAddress
  /// When the next request must be complete; `.max` while a request is being answered. Monotonic nanoseconds.
  var deadline: UInt64
  /// The request that has begun and is not answered.
  var exchange: Exchange?

  init(descriptor: Int32, address: ClientAddress, deadline: UInt64) {
    self.descriptor = descriptor
    self.address = address
    self.deadline = deadline
  }

  /// Ends the connection; the library closes the descriptor.
  func disconnect() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

extension IPAddress {
  /// Returns nil if `name` has no IP address: that of a unix socket.
  init?(_ name: UnsafePointer<sockaddr>) {
    switch Int32(name.pointee.sa_family) {
    case AF_INET:
      self = name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        IPAddress(bytes: withUnsafeBytes(of: $0.pointee.sin_addr, Array.init))
      }
    case AF_INET6:
      self = name.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        IPAddress(bytes: withUnsafeBytes(of: $0.pointee.sin6_addr, Array.init))
      }
    default: return nil
    }
  }
}
