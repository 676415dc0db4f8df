public import Crypto
import EventLoop
import JSON

/// The address and the limits of a server.
public struct HTTPServerConfiguration: Sendable {
  public var address: HTTPAddress
  /// With one the server speaks HTTPS only, without one HTTP only.
  public var certificate: ServerCertificate?
  /// The limit of bodies of most routes.
  public static let usualBodyBytes = 65_536

  /// Larger bodies are answered 413; with 0 any body is.
  public var maximumBodyBytes = HTTPServerConfiguration.usualBodyBytes
  /// The limit of a request that may have a larger body than ``maximumBodyBytes``, judged by the rest of it; else nil. Asked
  /// only for one that is larger, or of unknown length.
  public var largerBodyLimit: @EventLoop @Sendable (_ request: HTTPRequest) -> Int? = { _ in nil }
  /// Request line and header fields together; more is answered 431.
  public var maximumHeaderBytes = 16_384
  /// A connection is closed after this time without data, or if one request takes longer to arrive. Seconds.
  public var connectionTimeout = 30
  /// The limit is lower if the process may open fewer descriptors. Above nine tenths of it, connections without a
  /// complete request are closed: those of the client with the most connections first, and of these the longest waiting.
  public var maximumConnections = 2000
  /// How much all connections and their requests may take, and each client.
  package var budget = RequestBudget.Limits()
  /// The proxies whose connections are those of many clients.
  public var trustedProxies = TrustedProxies()
  /// Returns the answer to a request that never reaches the handler: 400 (malformed, or more query items than
  /// ``FormEncoding/maximumItems``), 413, or 431 (more than 100 header fields, or a head over ``maximumHeaderBytes``). The
  /// request has no body, and if its target is malformed, its path is the whole target.
  public var refusal: @Sendable (_ status: Int, _ request: HTTPRequest) -> HTTPResponse = { status, _ in
    HTTPServerConfiguration.refusal(status)
  }

  /// Whether the answer to a request depends on its body, judged by the rest of it. If not, the handler gets the request
  /// without its body, which is never read, and the connection closes after the answer.
  public var needsBody: @EventLoop @Sendable (_ request: HTTPRequest) -> Bool = { _ in true }

  /// The line in the log when it listens.
  package var announcement: StaticString = "listens"

  public init(address: HTTPAddress) {
    self.address = address
  }

  static func refusal(_ status: Int) -> HTTPResponse {
    switch status {
    case 413: .text("body too large\n", status: status)
    case 431: .text("header fields too large\n", status: status)
    default: .text("bad request\n", status: status)
    }
  }
}

/// The address of a server.
public enum HTTPAddress: Sendable, Equatable, CustomStringConvertible {
  /// Port 0 takes any free one.
  case tcp(host: String, port: Int)
  /// An existing socket file is replaced.
  case unix(path: String)

  /// An address that only this machine reaches.
  package static func loopback(port: Int) -> HTTPAddress { .tcp(host: "127.0.0.1", port: port) }

  /// Reads `host:port`, `[v6]:port`, `:port` (every interface) or `unix:/path`.
  public init(parsing text: String) throws(HTTPServerError) {
    if text.hasPrefix("unix:"), text.count > 5 {
      self = .unix(path: String(text.dropFirst(5)))
      return
    }
    guard let colon = text.lastIndex(of: ":"),
      let port = text[text.index(after: colon)...].integer(in: 0...Int(UInt16.max))
    else {
      throw .badAddress(text)
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw .badAddress(text)
    }
    self = .tcp(host: String(host), port: port)
  }

  public var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}

/// Why a server could not be started.
public enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text is not `host:port`, `[v6]:port` or `unix:/path`.
  case badAddress(String)
  /// The address could not be bound, for the system's `reason`.
  case cannotListen(String, reason: String)
  /// The daemon rejected its options or is out of descriptors.
  case cannotStart(reason: String)

  public var description: String {
    switch self {
    case .badAddress(let text):
      "\"\(text)\" is not an address: expected host:port, [IPv6 address]:port or unix:/path"
    case .cannotListen(let address, let reason):
      "cannot listen on \(address): \(reason)"
    case .cannotStart(let reason):
      "cannot start the HTTP server: \(reason)"
    }
  }
}
