/// Why there is no answer, or no connection. An answer with any status is not an error.
public enum HTTPClientError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A URL, a header field or a certificate of the caller is invalid. Another attempt would fail too.
  case configuration(String)
  /// The name of the host, or of the proxy, has no address.
  case unresolved(String)
  /// Nothing listens at the address, or it cannot be reached.
  case refused(String)
  /// The time was over. The server may have processed the request.
  case timedOut(String)
  /// The certificate of the server is not trusted, has expired or is for another name, or TLS failed.
  case certificate(String)
  /// Any other failure of the connection. The server may have processed the request.
  case connection(String)

  public var description: String {
    switch self {
    case .configuration(let text), .unresolved(let text), .refused(let text), .timedOut(let text),
      .certificate(let text), .connection(let text):
      text
    }
  }
}
