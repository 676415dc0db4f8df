/// Where a server listens.
public enum HTTPAddress: Sendable, Equatable, CustomStringConvertible {
  /// Port 0 takes any free one.
  case tcp(host: String, port: Int)
  /// A socket file that is there already is replaced.
  case unix(path: String)

  /// From `host:port`, `[v6]:port`, `:port` (every interface) or `unix:/path`.
  public init(parsing text: String) throws(HTTPServerError) {
    if text.hasPrefix("unix:"), text.count > 5 {
      self = .unix(path: String(text.dropFirst(5)))
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw .badAddress(text)
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw .badAddress(text)
    }
    self = .tcp(host: String(host), port: Int(port))
  }

  public var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}
