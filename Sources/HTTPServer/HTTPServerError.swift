/// Why a server could not be started.
public enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// No `host:port`, `[v6]:port` or `unix:/path`.
  case badAddress(String)
  /// The address could not be bound; `reason` is the system's.
  case cannotListen(String, reason: String)
  /// The daemon refused its options or is out of descriptors.
  case cannotStart(reason: String)

  public var description: String {
    switch self {
    case .badAddress(let text):
      "\"\(text)\" is no address: expected host:port, [IPv6 address]:port or unix:/path"
    case .cannotListen(let address, let reason):
      "cannot listen on \(address): \(reason)"
    case .cannotStart(let reason):
      "cannot start the HTTP server: \(reason)"
    }
  }
}
