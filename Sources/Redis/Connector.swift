import Dispatch
import EventLoop
import Glibc

/// Opens connections on its own serial queue, because opening blocks.
final class Connector: Sendable {
  /// For opening a connection: sentinels, every address, TLS. Only name resolution may take longer.
  static let timeout = Duration.seconds(5)
  private static let keepAliveIdleSeconds: Int32 = 30
  private static let keepAliveIntervalSeconds: Int32 = 10
  private static let keepAliveProbes: Int32 = 3

  private let queue = DispatchQueue(label: "martlet.redis.connector")

  /// A connection, and the endpoint with whose credentials it is to be greeted.
  struct Opened: Sendable {
    let transport: Transport
    let endpoint: RedisEndpoint
  }

  /// Connects to the server of `endpoint` as it is now; of a cluster, to the primary of `slot`.
  func connect(
    to endpoint: RedisEndpoint, slot: Int? = nil,
    _ completion: @escaping @EventLoop (Result<Opened, RedisError>) -> Void
  ) {
    start(
      { deadline throws(RedisError) in
        let endpoint = endpoint.current()
        return Opened(transport: try Connector.open(endpoint, slot: slot, until: deadline), endpoint: endpoint)
      }, completion)
  }

  /// Asks `servers`, in their order, which slots each server of the cluster has.
  func discover(
    _ endpoint: RedisEndpoint, asking servers: [ClusterTopology.Server],
    _ completion: @escaping @EventLoop (Result<ClusterTopology, RedisError>) -> Void
  ) {
    start(
      { deadline throws(RedisError) in
        try ClusterDiscovery.topology(of: endpoint.current(), asking: servers, until: deadline)
      }, completion)
  }

  private func start<Value: Sendable>(
    _ work: @escaping @Sendable (_ deadline: UInt64) throws(RedisError) -> Value,
    _ completion: @escaping @EventLoop (Result<Value, RedisError>) -> Void
  ) {
    queue.async {
      let deadline = Clock.monotonicNanoseconds + Connector.timeout.unsignedNanoseconds
      let result = Result { () throws(RedisError) in try work(deadline) }
      EventLoop.run { completion(result) }
    }
  }

  private static func open(
    _ endpoint: RedisEndpoint, slot: Int?, until deadline: UInt64
  ) throws(RedisError) -> Transport {
    switch endpoint.address {
    case .unix(let path): return Transport(descriptor: try dial(unix: path, until: deadline))
    case .tcp(let server, _): return try open(server, of: endpoint, until: deadline)
    case .sentinel(let sentinels, let name):
      // Asked on each attempt, because a failover changes the answer.
      let master = try Sentinel.master(name, of: sentinels, until: deadline)
      return try open(master, of: endpoint, until: deadline)
    case .cluster(let servers, _):
      // Asked on each attempt, too: a failover or a move of the slot changes the answer.
      let topology = try ClusterDiscovery.topology(of: endpoint, asking: servers, until: deadline)
      guard let server = topology[slot ?? 0] else {
        throw .notSent("no server of the cluster has slot \(slot ?? 0): check it with redis-cli --cluster check")
      }
      return try open(server, of: endpoint, until: deadline)
    }
  }

  /// Connects to one server, with TLS if the endpoint has it.
  static func open(
    _ server: RedisEndpoint.HostAndPort, of endpoint: RedisEndpoint, until deadline: UInt64
  ) throws(RedisError) -> Transport {
    let descriptor = try dial(server, until: deadline)
    guard endpoint.isEncrypted else { return Transport(descriptor: descriptor) }
    do {
      let tls = try TLSSession(
        descriptor: descriptor, host: server.host, caCertificatePEM: endpoint.caCertificatePEM,
        clientCertificate: endpoint.clientCertificate)
      try tls.handshake(descriptor, until: deadline)
      return Transport(descriptor: descriptor, tls: tls)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Returns a connected, non-blocking descriptor of the first address that accepts.
  static func dial(_ server: RedisEndpoint.HostAndPort, until deadline: UInt64) throws(RedisError) -> Int32 {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(server.host, String(server.port), &hints, &list)
    guard code == 0 else { throw .notSent("cannot resolve \(server.host): \(String(cString: gai_strerror(code)))") }
    defer { freeaddrinfo(list) }

    let addresses = Array(sequence(first: list, next: { $0?.pointee.ai_next })).compactMap { $0?.pointee }
    let descriptor = try first(of: addresses, until: deadline, else: "\(server.host) has no address") {
      address, deadline throws(RedisError) in
      try connect(address.ai_family, address.ai_addr, address.ai_addrlen, server.summary, until: deadline)
    }
    tune(descriptor)
    return descriptor
  }

  /// Tries `candidates` in their order and returns the first success. Each may take an equal share of the time that is left;
  /// `kept` shares stay for what follows. Throws the last error; `reason` if there is no candidate or no time.
  static func first<Candidate, Value>(
    of candidates: [Candidate], until deadline: UInt64, keeping kept: Int = 0, else reason: String,
    _ attempt: (Candidate, _ deadline: UInt64) throws(RedisError) -> Value
  ) throws(RedisError) -> Value {
    var failure = RedisError.notSent(reason)
    for (index, candidate) in candidates.enumerated() {
      let now = Clock.monotonicNanoseconds
      guard now < deadline else { break }
      do {
        return try attempt(candidate, now + (deadline - now) / UInt64(candidates.count - index + kept))
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func dial(unix path: String, until deadline: UInt64) throws(RedisError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { room in
      room.copyBytes(from: path.utf8.prefix(room.count - 1))
    }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        Result { () throws(RedisError) in try connect(AF_UNIX, generic, size, path, until: deadline) }
      }
    }
    return try result.get()
  }

  private static func connect(
    _ family: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t, _ name: String, until deadline: UInt64
  ) throws(RedisError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { throw .notSent("cannot make a socket: \(String(cString: strerror(errno)))") }
    var code: Int32 = 0
    if Glibc.connect(descriptor, address, size) != 0 {
      code = errno
      if code == EINPROGRESS || code == EINTR {
        code = ETIMEDOUT
        if Poll.wait(descriptor, for: POLLOUT, until: deadline) {
          var length = socklen_t(MemoryLayout<Int32>.size)
          getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        }
      }
    }
    guard code == 0 else {
      close(descriptor)
      throw .notSent("cannot connect to \(name): \(String(cString: strerror(code)))")
    }
    return descriptor
  }

  private static func tune(_ descriptor: Int32) {
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, keepAliveIdleSeconds)
    set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, keepAliveIntervalSeconds)
    set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, keepAliveProbes)
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}

/// Blocking waits, for the connector's queue.
enum Poll {
  /// Returns false if `deadline` (monotonic nanoseconds) passes first.
  static func wait(_ descriptor: Int32, for events: Int32, until deadline: UInt64) -> Bool {
    while true {
      let now = Clock.monotonicNanoseconds
      guard now < deadline else { return false }
      var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      let count = poll(&entry, 1, Int32(clamping: (deadline - now) / 1_000_000 + 1))
      if count > 0 { return true }
      if count < 0, errno != EINTR { return false }
    }
  }
}
