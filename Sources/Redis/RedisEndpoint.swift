/// Where redis is and how to get in, from REDIS_URL.
public struct RedisEndpoint: Sendable, Equatable {
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

  let address: Address
  /// Nil is redis' own `default`.
  let user: String?
  let password: String?
  let database: Int
  let caCertificatePEM: String?

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
