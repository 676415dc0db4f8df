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

  /// Ends the connection; the library closes the descriptor.
  func disconnect() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Returns the IP address in `name` as text, or ``HTTPRequest/unixPeer`` if it has none.
  static func text(of name: UnsafePointer<sockaddr>?) -> String {
    guard let name else { return HTTPRequest.unixPeer }
    switch Int32(name.pointee.sa_family) {
    case AF_INET:
      return name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { text(of: $0.pointee.sin_addr, AF_INET) }
    case AF_INET6:
      return name.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { text(of: $0.pointee.sin6_addr) }
    default: return HTTPRequest.unixPeer
    }
  }

  /// A socket for both families reports IPv4 addresses as `::ffff:192.0.2.1`.
  private static func text(of address: in6_addr) -> String {
    let text = text(of: address, AF_INET6)
    let mapped = "::ffff:"
    return text.hasPrefix(mapped) && text.utf8.contains(UInt8(ascii: ".")) ? String(text.dropFirst(mapped.count)) : text
  }

  private static func text<Address>(of address: Address, _ family: Int32) -> String {
    withUnsafeBytes(of: address) { bytes in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
        inet_ntop(family, bytes.baseAddress, buffer.baseAddress, socklen_t(buffer.count)).map(String.init(cString:))
          ?? ""
      }
    }
  }
}
