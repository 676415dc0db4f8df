#if canImport(Glibc)
  import Glibc
#endif

/// A non-blocking socket that listens. The caller owns the descriptor.
package struct ListeningSocket {
  /// The number of connections that may wait to be accepted.
  private static let backlog: Int32 = 4096

  /// The mode of a unix socket's file, for any umask: its owner and group may connect.
  private static let socketMode: mode_t = 0o660

  package let descriptor: Int32
  /// 0 for a unix socket.
  package let port: Int

  package init(_ address: HTTPAddress) throws(HTTPServerError) {
    switch address {
    case .tcp(let host, let port): descriptor = try ListeningSocket.bind(host, port, address)
    case .unix(let path): descriptor = try ListeningSocket.bind(path, address)
    }
    guard listen(descriptor, ListeningSocket.backlog) == 0 else {
      let reason = ListeningSocket.systemReason()
      close(descriptor)
      throw .cannotListen("\(address)", reason: reason)
    }
    port = ListeningSocket.port(of: descriptor)
  }

  private static func bind(_ host: String, _ port: Int, _ address: HTTPAddress) throws(HTTPServerError) -> Int32 {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let found = getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &list)
    guard found == 0 else { throw .cannotListen("\(address)", reason: String(cString: gai_strerror(found))) }
    defer { freeaddrinfo(list) }
    var reason = "no address"
    var next = list
    while let candidate = next?.pointee {
      next = candidate.ai_next
      let descriptor = open(candidate.ai_family)
      guard descriptor >= 0 else {
        reason = systemReason()
        continue
      }
      if Glibc.bind(descriptor, candidate.ai_addr, candidate.ai_addrlen) == 0 { return descriptor }
      reason = systemReason()
      close(descriptor)
    }
    throw .cannotListen("\(address)", reason: reason)
  }

  private static func bind(_ path: String, _ address: HTTPAddress) throws(HTTPServerError) -> Int32 {
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: name.sun_path) else {
      throw .cannotListen("\(address)", reason: "path longer than 107 bytes")
    }
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
    removeSocketFile(path)
    let descriptor = open(AF_UNIX)
    // The file gets the socket's mode without the bits of the umask, so it never allows more than `socketMode`.
    let bound =
      fchmod(descriptor, socketMode) == 0
      && withUnsafeBytes(of: &name) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) {
          Glibc.bind(descriptor, $0.baseAddress, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
    guard bound, chmod(path, socketMode) == 0 else {
      let reason = systemReason()
      close(descriptor)
      throw .cannotListen("\(address)", reason: reason)
    }
    return descriptor
  }

  /// Removes the file only if it is a socket. Any other file may hold data.
  private static func removeSocketFile(_ path: String) {
    var status = stat()
    if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
  }

  private static func open(_ family: Int32) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, kind, 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
  }

  private static func port(of descriptor: Int32) -> Int {
    var name = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let port: UInt16 = withUnsafeMutableBytes(of: &name) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { _ = getsockname(descriptor, $0.baseAddress, &length) }
      // The port has the same offset in IPv4 and IPv6 names.
      return bytes.load(fromByteOffset: 2, as: UInt16.self)
    }
    return name.ss_family == sa_family_t(AF_UNIX) ? 0 : Int(UInt16(bigEndian: port))
  }

  private static func systemReason() -> String {
    String(cString: strerror(errno))
  }
}

/// The number of descriptors that the process may open.
package enum DescriptorLimit {
  /// Reserved for files and for connections that the process opens itself.
  private static let reserve = 128

  /// Raises the soft limit to the hard one: the usual soft limit of 1,024 is less than a server's connections.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Returns how many of the `wanted` connections the limit allows.
  static func room(for wanted: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
    return room(for: wanted, limit: Int(clamping: limit.rlim_cur))
  }

  /// Reserves half of the descriptors if there are few.
  static func room(for wanted: Int, limit: Int) -> Int {
    min(wanted, max(1, limit / 2, limit - reserve))
  }
}
