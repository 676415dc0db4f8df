public import Crypto
import Synchronization

/// Address and credentials of Redis, from REDIS_URL.
public struct RedisEndpoint: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  struct HostAndPort: Sendable, Hashable {
    /// Of a name or an address, in bytes.
    private static let maximumHostBytes = 255

    let host: String
    let port: UInt16

    /// Whether a name that a server sent can be resolved.
    static func isHost(_ text: some StringProtocol) -> Bool {
      (1...maximumHostBytes).contains(text.utf8.count) && !text.utf8.contains(0)
    }

    var summary: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  enum Address: Sendable, Equatable {
    case tcp(HostAndPort, isTLS: Bool)
    case unix(path: String)
    case sentinel([HostAndPort], master: String)
    /// Some servers of a cluster, which name the others.
    case cluster([HostAndPort], isTLS: Bool)
  }

  /// A placeholder without a server, used before it is known whether Redis is configured.
  package static let unset = RedisEndpoint(
    address: .unix(path: ""), user: nil, password: nil, database: 0, caCertificatePEM: nil)

  let address: Address
  /// Nil for the user `default`.
  let user: String?
  let password: String?
  let database: Int
  let caCertificatePEM: String?
  /// What this process shows to a server that asks for a certificate, with its key. Used with TLS only.
  public private(set) var clientCertificate: ServerCertificate?

  /// Returns the endpoint with a certificate for servers that ask clients for one.
  public func presenting(_ certificate: ServerCertificate?) -> RedisEndpoint {
    var endpoint = self
    endpoint.clientCertificate = certificate
    return endpoint
  }

  /// Where the endpoint was read; nil if it cannot change.
  private var source: EndpointSource?

  /// Returns the endpoint with what reads it again, for each connection.
  public func readAgain(by read: @escaping @Sendable () -> RedisEndpoint?) -> RedisEndpoint {
    var endpoint = self
    endpoint.source = EndpointSource(read)
    return endpoint
  }

  /// The endpoint as it is now: the passwords of managed services live for minutes. As it was last if it cannot be read, and unchanged
  /// if it is another kind of Redis. Blocks.
  func current() -> RedisEndpoint {
    guard let endpoint = source?.current(), endpoint.isCluster == isCluster else { return self }
    return endpoint
  }

  // Interpolating an endpoint by mistake must not reveal the password.
  public var description: String { summary }
  public var debugDescription: String { summary }

  /// The URL without user and password, for logs.
  public var summary: String {
    switch address {
    case .tcp(let server, let isTLS): "\(isTLS ? "rediss" : "redis")://\(server.summary)/\(database)"
    case .unix(let path): "unix://\(path)?db=\(database)"
    case .sentinel(let sentinels, let master):
      "redis+sentinel://\(sentinels.map(\.summary).joined(separator: ","))/\(master)/\(database)"
    case .cluster(let servers, let isTLS):
      "\(isTLS ? "rediss" : "redis")+cluster://\(servers.map(\.summary).joined(separator: ","))"
    }
  }

  /// Whether connections to Redis are encrypted.
  public var isEncrypted: Bool {
    switch address {
    case .tcp(_, let isTLS), .cluster(_, let isTLS): isTLS
    case .unix, .sentinel: false
    }
  }

  /// Whether this is a cluster, whose scripts and commands of several keys may only have keys of one hash slot.
  public var isCluster: Bool {
    if case .cluster = address { true } else { false }
  }

  /// The endpoint of one server of a cluster, with the same credentials.
  func server(_ server: HostAndPort) -> RedisEndpoint {
    var endpoint = RedisEndpoint(
      address: .tcp(server, isTLS: isEncrypted), user: user, password: password, database: 0,
      caCertificatePEM: caCertificatePEM
    ).presenting(clientCertificate)
    if let source { endpoint.source = EndpointSource { source.current()?.server(server) } }
    return endpoint
  }
}

/// What reads an endpoint again, and keeps the last one that could be read. All are equal: an endpoint is what it says, wherever it
/// was read.
private final class EndpointSource: Sendable, Equatable {
  private let read: @Sendable () -> RedisEndpoint?
  private let last = Mutex<RedisEndpoint?>(nil)

  init(_ read: @escaping @Sendable () -> RedisEndpoint?) { self.read = read }

  func current() -> RedisEndpoint? {
    let endpoint = read()
    return last.withLock { last in
      last = endpoint ?? last
      return last
    }
  }

  static func == (first: EndpointSource, second: EndpointSource) -> Bool { true }
}
