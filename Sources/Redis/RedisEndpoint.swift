public import Crypto
import JSON
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

extension RedisEndpoint {
  /// The forms of a URL, for faults.
  public static let forms =
    "redis:// or valkey://[user:password@]host[:port][/db], rediss:// or valkeys:// (TLS), unix:///path[?db=N], "
    + "redis+sentinel://host:port,host:port/master[/db], redis+cluster://host:port,host:port or rediss+cluster:// (TLS)"
  /// Other names of schemes.
  private static let sameSchemes = ["valkey": "redis", "valkeys": "rediss"]
  private static let redisPort: UInt16 = 6379
  private static let sentinelPort: UInt16 = 26379
  /// Size of `sun_path` in unix(7), without its NUL.
  private static let maximumSocketPathBytes = 107

  /// Parses a URL of one of these forms:
  /// - `redis://[user:password@]host[:port][/db]`; `redis://:password@host` for the default user
  /// - `rediss://…`, the same with TLS; `valkey://` and `valkeys://` are the same as these two
  /// - `unix://[user:password@]/path[?db=N]`
  /// - `redis+sentinel://[user:password@]host[:port],…/master[/db]`
  /// - `redis+cluster://[user:password@]host[:port],…`, `rediss+cluster://…` with TLS
  ///
  /// User and password are percent-decoded. An empty password is none: only the default user may have it.
  /// `caCertificatePEM` is trusted in addition to the system's authorities.
  /// Throws ``RedisError/configuration(_:)``, without the name of the setting.
  public init(url: String, caCertificatePEM: String? = nil) throws(RedisError) {
    if url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) {
      throw .configuration("contains a space or a control character")
    }
    let parts = url.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw .configuration("is not a URL") }
    let written = parts[0].lowercased()
    let scheme = RedisEndpoint.sameSchemes[written] ?? written
    guard ["redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "rediss+cluster"].contains(scheme) else {
      throw .configuration("has an unknown scheme")
    }
    if parts[1].contains("#") { throw .configuration("has a '#': write %23 for one in the password") }
    let pieces = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let slash = pieces[0].firstIndex(of: "/") ?? pieces[0].endIndex
    let path = pieces[0][slash...]
    let (credentials, authority) = try RedisEndpoint.splitCredentials(pieces[0][..<slash])
    var database = try RedisEndpoint.database(inQuery: pieces.count == 2 ? pieces[1] : "")

    switch scheme {
    case "unix":
      guard authority.isEmpty else { throw .configuration("needs three slashes: unix:///path/to/redis.sock") }
      // Otherwise a password would be read as part of the path, and logged.
      guard !path.contains("@") else {
        throw .configuration("has an '@' in the path: unix://user:password@/path; write %40 for one in the path")
      }
      address = .unix(path: try RedisEndpoint.socketPath(path))
    case "redis+sentinel":
      let names = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
      guard let master = names.first, !master.isEmpty, names.count <= 2 else {
        throw .configuration("needs the master's name: redis+sentinel://host:port,host:port/master[/db]")
      }
      guard !master.contains("@") else {
        throw .configuration("has an '@' in the master's name: put the credentials before the first host")
      }
      address = .sentinel(
        try RedisEndpoint.servers(authority, defaultPort: RedisEndpoint.sentinelPort),
        master: try RedisEndpoint.percentDecoded(master, "master's name"))
      if names.count == 2 { database = try RedisEndpoint.database(names[1]) }
    case "redis+cluster", "rediss+cluster":
      address = .cluster(
        try RedisEndpoint.servers(authority, defaultPort: RedisEndpoint.redisPort), isTLS: scheme == "rediss+cluster")
      if path.count > 1 { database = try RedisEndpoint.database(path.dropFirst()) }
      guard (database ?? 0) == 0 else { throw .configuration("has a database: a cluster has database 0 alone") }
    default:
      let server = try HostAndPort(authority, defaultPort: RedisEndpoint.redisPort)
      address = .tcp(server, isTLS: scheme == "rediss")
      if path.count > 1 { database = try RedisEndpoint.database(path.dropFirst()) }
    }
    user = credentials?.user
    password = credentials?.password
    self.database = database ?? 0
    if let caCertificatePEM, !TLSSession.isCertificatePEM(caCertificatePEM) {
      throw .configuration("has a CA certificate that is not PEM text (-----BEGIN CERTIFICATE-----)")
    }
    self.caCertificatePEM = caCertificatePEM
  }

  private static func splitCredentials(
    _ authority: Substring
  ) throws(RedisError) -> (credentials: (user: String?, password: String)?, rest: Substring) {
    guard let at = authority.lastIndex(of: "@") else { return (nil, authority) }
    let rest = authority[authority.index(after: at)...]
    let credentials = authority[..<at]
    guard let colon = credentials.firstIndex(of: ":") else {
      throw .configuration("has a user without a password: write user:password@ or :password@")
    }
    let user = try percentDecoded(credentials[..<colon], "user")
    let password = try percentDecoded(credentials[credentials.index(after: colon)...], "password")
    if password.isEmpty {
      guard user.isEmpty || user == "default" else {
        throw .configuration("has a user without a password: write user:password@ or :password@")
      }
      return (nil, rest)
    }
    return ((user.isEmpty ? nil : user, password), rest)
  }

  /// `host[:port],host[:port]`
  private static func servers(_ text: Substring, defaultPort: UInt16) throws(RedisError) -> [HostAndPort] {
    var servers: [HostAndPort] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      servers.append(try HostAndPort(part, defaultPort: defaultPort))
    }
    return servers
  }

  private static func socketPath(_ path: Substring) throws(RedisError) -> String {
    let path = try percentDecoded(path, "path")
    guard path.utf8.count > 1 else { throw .configuration("needs the socket's path: unix:///path/to/redis.sock") }
    guard path.utf8.count <= maximumSocketPathBytes else {
      throw .configuration("has a socket path longer than \(maximumSocketPathBytes) bytes")
    }
    guard !path.utf8.contains(0) else { throw .configuration("has a NUL in the socket path") }
    return path
  }

  private static func database(inQuery query: Substring) throws(RedisError) -> Int? {
    guard !query.isEmpty else { return nil }
    guard query.hasPrefix("db="), !query.contains("&") else {
      throw .configuration("has an unknown parameter after '?': expected db=N")
    }
    return try database(query.dropFirst("db=".count))
  }

  private static func database(_ text: Substring) throws(RedisError) -> Int {
    guard let number = text.integer(in: 0...Int(Int32.max)) else {
      throw .configuration("has a database that is not a number: expected /0, /1 and so on")
    }
    return number
  }

  private static func percentDecoded(_ text: Substring, _ part: String) throws(RedisError) -> String {
    guard let bytes = [UInt8](percentDecoding: Array(text.utf8)[...]) else {
      throw .configuration("has a '%' without two hexadecimal digits in the \(part): write %25 for a '%'")
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .configuration("has a \(part) that is not UTF-8")
    }
    return decoded
  }
}

extension RedisEndpoint.HostAndPort {
  /// `host`, `host:port`, `[v6]` or `[v6]:port`.
  init(_ text: Substring, defaultPort: UInt16) throws(RedisError) {
    let host: Substring
    var rest: Substring
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { throw .configuration("has a '[' without its ']' in the host") }
      host = text[text.index(after: text.startIndex)..<end]
      rest = text[text.index(after: end)...]
    } else {
      let colon = text.firstIndex(of: ":") ?? text.endIndex
      host = text[..<colon]
      rest = text[colon...]
    }
    guard !host.isEmpty else { throw .configuration("has no host") }
    guard !host.contains("%") else { throw .configuration("has a '%' in the host") }
    self.host = String(host)
    guard let separator = rest.popFirst() else {
      port = defaultPort
      return
    }
    guard separator == ":", let number = rest.integer(in: 1...UInt16.max)
    else { throw .configuration("has a port that is not a number from 1 to 65535 (write / as %2F in a password)") }
    port = number
  }
}
