/// Where redis is and how to get in, from REDIS_URL.
public struct RedisEndpoint: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  struct HostAndPort: Sendable, Equatable {
    let host: String
    let port: UInt16

    var summary: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  enum Address: Sendable, Equatable {
    case tcp(HostAndPort, isTLS: Bool)
    case unix(path: String)
    case sentinel([HostAndPort], master: String)
  }

  /// Names no server: for what is read before it is known whether Redis is configured.
  package static let unset = RedisEndpoint(
    address: .unix(path: ""), user: nil, password: nil, database: 0, caCertificatePEM: nil)

  let address: Address
  /// Nil is redis' own `default`.
  let user: String?
  let password: String?
  let database: Int
  let caCertificatePEM: String?

  // Interpolated by mistake, it still keeps the password.
  public var description: String { summary }
  public var debugDescription: String { summary }

  /// For logs: no user, no password.
  public var summary: String {
    switch address {
    case .tcp(let server, let isTLS): "\(isTLS ? "rediss" : "redis")://\(server.summary)/\(database)"
    case .unix(let path): "unix://\(path)?db=\(database)"
    case .sentinel(let sentinels, let master):
      "redis+sentinel://\(sentinels.map(\.summary).joined(separator: ","))/\(master)/\(database)"
    }
  }
}
