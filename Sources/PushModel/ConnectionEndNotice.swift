/// The end of a connection to APNs, for operators.
public struct ConnectionEndNotice: Sendable, Equatable {
  /// APNs' reason, the name of an HTTP/2 error, or what was missing: one of few.
  public let reason: String
  /// The URL of the gateway.
  public let gateway: String
  /// Unix milliseconds.
  public let at: Int64

  public init(reason: String, gateway: String, at: Int64) {
    self.reason = reason
    self.gateway = gateway
    self.at = at
  }
}
