import Glibc

/// Where a socket listens, or connects to.
public enum SocketPlace: Sendable {
  /// Of a unix socket.
  case path(String)
  /// `host` is an address of the loopback interface.
  case port(Int, host: String = "127.0.0.1")

  /// Returns a stream socket for this place; -1 if there is none.
  public func makeSocket() -> Int32 {
    let family = if case .path = self { AF_UNIX } else { AF_INET }
    return socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  public func bind(_ descriptor: Int32) -> Bool { with { Glibc.bind(descriptor, $0, $1) == 0 } }

  public func connect(_ descriptor: Int32) -> Bool { with { Glibc.connect(descriptor, $0, $1) == 0 } }

  private func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    switch self {
    case .path(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      return SocketPlace.with(address, body)
    case .port(let port, let host):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      inet_pton(AF_INET, host, &address.sin_addr)
      return SocketPlace.with(address, body)
    }
  }

  private static func with<Address>(
    _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> Bool {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Address>.size)) }
    }
  }
}
