import CMicroHTTPD

#if canImport(Glibc)
  import Glibc
#endif

/// An open connection.
struct Peer {
  let descriptor: Int32
  /// In the form of ``HTTPRequest/peerAddress``.
  let address: String
  /// When the next request must be complete; `.max` while a request is being answered. Monotonic nanoseconds.
  var deadline: UInt64
  /// The request that has begun and is not answered.
  var exchange: Exchange?

  mutating func begin(_ exchange: Exchange?, deadline: UInt64) {
    self.exchange = exchange
    self.deadline = deadline
  }

  /// Ends the connection; the library closes the descriptor.
  func disconnect() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Returns the IP address in `name` as text, or ``HTTPRequest/unixPeer`` if it has none.
  static func text(of name: UnsafePointer<sockaddr>?) -> String {
    guard let name else { return HTTPRequest.unixPeer }
    let bytes: [UInt8]
    switch Int32(name.pointee.sa_family) {
    case AF_INET:
      bytes = name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin_addr, Array.init)
      }
    case AF_INET6:
      bytes = name.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin6_addr, Array.init)
      }
    default: return HTTPRequest.unixPeer
    }
    return IPAddress(bytes: bytes).text
  }
}
